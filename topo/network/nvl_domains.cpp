#include "topo/network/nvl_domains.h"

#include <algorithm>
#include <map>
#include <utility>

namespace robustrun::topo {
namespace {

constexpr std::uint32_t kUnknown = 0xffffffff;

// One number per domain; machines without a domain are numbered by the switch below the new level.
struct Domains {
  std::vector<std::uint32_t> of_node;
  std::vector<std::string> names;
};

Domains domains_of(const Cluster& cluster, const std::vector<std::uint32_t>* below) {
  Domains domains;
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> numbers;
  for (NodeIndex node = 0; node < cluster.nodes.size(); ++node) {
    const Node& one = cluster.nodes[node];
    const bool alone = one.nvl_domain.empty();
    const std::uint32_t own = !alone ? kUnknown : below != nullptr ? (*below)[node] : node;
    const auto next = static_cast<std::uint32_t>(domains.names.size());
    const auto [at, added] = numbers.try_emplace({one.nvl_domain, own}, next);
    if (added) domains.names.push_back(alone ? one.name : one.nvl_domain);
    domains.of_node.push_back(at->second);
  }
  return domains;
}

// Maps each value of `from` to its only value of `to`; empty if some value has several.
std::vector<std::uint32_t> parents(const std::vector<std::uint32_t>& from, std::size_t count,
                                   const std::vector<std::uint32_t>& to) {
  std::vector<std::uint32_t> parent(count, kUnknown);
  for (std::size_t node = 0; node < from.size(); ++node) {
    std::uint32_t& known = parent[from[node]];
    if (known != kUnknown && known != to[node]) return {};
    known = to[node];
  }
  return parent;
}

}  // namespace

Cluster with_nvl_domains(Cluster cluster) {
  const bool any =
      std::ranges::any_of(cluster.nodes, [](const Node& node) { return !node.nvl_domain.empty(); });
  if (!any) return cluster;
  const auto switches = switches_by_level(cluster);
  for (std::size_t above = 0; above < switches.size(); ++above) {
    const auto* const below = above == 0 ? nullptr : &switches[above - 1];
    const Domains domains = domains_of(cluster, below);
    const auto up = parents(domains.of_node, domains.names.size(), switches[above]);
    if (up.empty()) continue;
    std::vector<std::uint32_t> down;
    if (below != nullptr) {
      down = parents(*below, cluster.levels[above - 1].switches.size(), domains.of_node);
      if (down.empty()) continue;
    }
    Level level{"nvl", 0, {}};
    for (std::size_t i = 0; i < up.size(); ++i) level.switches.push_back({domains.names[i], up[i]});
    if (below == nullptr) {
      cluster.leaf_of = domains.of_node;
    } else {
      auto& lower = cluster.levels[above - 1].switches;
      for (std::size_t i = 0; i < lower.size(); ++i) lower[i].parent = down[i];
    }
    cluster.levels.insert(cluster.levels.begin() + static_cast<std::ptrdiff_t>(above),
                          std::move(level));
    return cluster;
  }
  return cluster;
}

}  // namespace robustrun::topo
