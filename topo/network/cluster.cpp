#include "topo/network/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/core/text.h"
#include "topo/limits.h"

namespace robustrun::topo {
namespace {

using base::Errc;
using base::fail;

constexpr std::uint32_t kGone = 0xffffffff;

// Renumbers the used indices in the order of first use; the result maps new to old.
class Renumbering {
 public:
  explicit Renumbering(std::size_t before) : now_(before, kGone) {}
  std::uint32_t operator()(std::uint32_t before) {
    if (now_[before] == kGone) {
      now_[before] = static_cast<std::uint32_t>(kept_.size());
      kept_.push_back(before);
    }
    return now_[before];
  }
  [[nodiscard]] const std::vector<std::uint32_t>& kept() const { return kept_; }

 private:
  std::vector<std::uint32_t> now_;
  std::vector<std::uint32_t> kept_;
};

}  // namespace

std::uint32_t switch_of(const Cluster& cluster, NodeIndex node, std::size_t level) {
  RR_ASSERT(level < cluster.levels.size());
  std::uint32_t at = cluster.leaf_of[node];
  for (std::size_t l = 0; l < level; ++l) at = cluster.levels[l].switches[at].parent;
  return at;
}

std::vector<std::vector<std::uint32_t>> switches_by_level(const Cluster& cluster) {
  std::vector<std::vector<std::uint32_t>> all = {cluster.leaf_of};
  for (std::size_t level = 1; level < cluster.levels.size(); ++level) {
    const auto& below = cluster.levels[level - 1].switches;
    std::vector<std::uint32_t> above(cluster.nodes.size());
    for (std::size_t node = 0; node < above.size(); ++node) {
      above[node] = below[all.back()[node]].parent;
    }
    all.push_back(std::move(above));
  }
  return all;
}

base::Result<Cluster> restrict_to(const Cluster& cluster, const std::vector<std::string>& hosts) {
  const auto name_of = [&](NodeIndex node) { return std::string_view(cluster.nodes[node].name); };
  std::vector<NodeIndex> by_name(cluster.nodes.size());
  std::iota(by_name.begin(), by_name.end(), 0);
  std::ranges::sort(by_name, {}, name_of);
  Cluster part;
  part.source = cluster.source;
  std::vector<bool> taken(cluster.nodes.size(), false);
  Renumbering leaves(cluster.levels.front().switches.size());
  for (const std::string& host : hosts) {
    const auto found = std::ranges::lower_bound(by_name, host, {}, name_of);
    if (found == by_name.end() || name_of(*found) != host) {
      std::vector<std::string> known;
      for (const Node& node : cluster.nodes) known.push_back(node.name);
      const std::string near = base::nearest(host, known);
      return fail(Errc::kNotFound,
                  fmt::format("cannot find host '{}' in {}{}; add it there, or leave the topology "
                              "out",
                              base::printable(host), cluster.source,
                              near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near)));
    }
    if (taken[*found]) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("cannot place host '{}': it is named twice", base::printable(host)));
    }
    taken[*found] = true;
    part.nodes.push_back(cluster.nodes[*found]);
    part.leaf_of.push_back(leaves(cluster.leaf_of[*found]));
  }
  std::vector<std::uint32_t> kept = leaves.kept();
  for (std::size_t level = 0; level < cluster.levels.size(); ++level) {
    const Level& whole = cluster.levels[level];
    const bool top = level + 1 == cluster.levels.size();
    Renumbering parents(top ? 0 : cluster.levels[level + 1].switches.size());
    Level& mine = part.levels.emplace_back(Level{whole.name, whole.gbps, {}});
    for (const std::uint32_t before : kept) {
      const Switch& one = whole.switches[before];
      mine.switches.push_back({one.name, top ? 0 : parents(one.parent)});
    }
    kept = parents.kept();
  }
  return part;
}

Cluster flat_cluster(const std::vector<std::string>& hosts) {
  Cluster cluster;
  for (const std::string& host : hosts) {
    cluster.nodes.emplace_back().name = host;
    cluster.leaf_of.push_back(0);
  }
  cluster.levels.push_back({"network", 0, {{"network", 0}}});
  cluster.source = "no topology";
  return cluster;
}

bool has_structure(const Cluster& cluster) {
  return std::ranges::any_of(cluster.levels,
                             [](const Level& level) { return level.switches.size() > 1; });
}

bool is_consistent(const Cluster& cluster) {
  if (cluster.levels.empty() || cluster.levels.size() > kLevelsMax) return false;
  if (cluster.nodes.size() > kNodesMax || cluster.leaf_of.size() != cluster.nodes.size()) {
    return false;
  }
  const std::size_t leaves = cluster.levels.front().switches.size();
  if (std::ranges::any_of(cluster.leaf_of, [&](std::uint32_t leaf) { return leaf >= leaves; })) {
    return false;
  }
  for (std::size_t level = 0; level < cluster.levels.size(); ++level) {
    const bool top = level + 1 == cluster.levels.size();
    const std::size_t above = top ? 1 : cluster.levels[level + 1].switches.size();
    const auto fits = [&](const Switch& one) { return one.parent < above; };
    if (!std::ranges::all_of(cluster.levels[level].switches, fits)) return false;
  }
  return true;
}

}  // namespace robustrun::topo
