#include "topo/spares/spares.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "topo/limits.h"

namespace robustrun::topo {
namespace {

class Chooser {
 public:
  Chooser(const Cluster& cluster, const Objective& objective, std::span<const NodeIndex> nodes)
      : cluster_(cluster), weights_(objective.levels) {
    // If no level divides the nodes, any weight will do: all spares are alike.
    for (std::int64_t& weight : weights_) weight = std::max<std::int64_t>(weight, 1);
    for (std::size_t level = 0; level < cluster.levels.size(); ++level) {
      all_.emplace_back(cluster.levels[level].switches.size(), 0);
    }
    for (const NodeIndex node : nodes) add(all_, node);
    alone_ = all_;
  }

  std::vector<NodeIndex> take(std::span<const NodeIndex> free, std::uint32_t count) {
    std::map<Kind, std::vector<NodeIndex>> kinds;  // equivalent nodes, the first one last
    for (const NodeIndex node : free) {
      kinds[{cluster_.leaf_of[node], cluster_.nodes[node].rack, cluster_.nodes[node].power}]
          .push_back(node);
    }
    for (auto& [kind, alike] : kinds) std::ranges::reverse(alike);
    std::vector<NodeIndex> spares;
    while (spares.size() < std::min(count, kSparesWeighed) && !kinds.empty()) {
      auto best = kinds.begin();
      Worth most = worth(best->second.back());
      for (auto kind = std::next(best); kind != kinds.end(); ++kind) {
        Worth one = worth(kind->second.back());
        if (one < most || (one == most && kind->second.back() > best->second.back())) continue;
        best = kind;
        most = one;
      }
      if (std::get<0>(most) == 0 && !std::exchange(fresh_, true)) {
        alone_ = all_;  // every place has a spare near it: start a second round
        continue;
      }
      fresh_ = false;
      spares.push_back(best->second.back());
      keep(spares.back());
      best->second.pop_back();
      if (best->second.empty()) kinds.erase(best);
    }
    std::vector<NodeIndex> rest;
    for (const auto& [kind, alike] : kinds) rest.insert(rest.end(), alike.begin(), alike.end());
    std::ranges::sort(rest);
    rest.resize(std::min<std::size_t>(rest.size(), count - spares.size()));
    spares.insert(spares.end(), rest.begin(), rest.end());
    return spares;
  }

 private:
  using Counts = std::vector<std::vector<std::int64_t>>;  // by level, then switch
  using Kind = std::tuple<std::uint32_t, std::string_view, std::string_view>;
  // Larger is better: near places without a spare, then few spares in its rack and on its power
  // supply.
  using Worth = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

  void keep(NodeIndex spare) {
    each_level(spare, [&](std::size_t level, std::uint32_t at) { alone_[level][at] = 0; });
    ++racks_[cluster_.nodes[spare].rack];
    ++power_[cluster_.nodes[spare].power];
  }

  template <class Visit>
  void each_level(NodeIndex node, Visit visit) const {
    std::uint32_t at = cluster_.leaf_of[node];
    for (std::size_t level = 0; level < cluster_.levels.size(); ++level) {
      visit(level, at);
      at = cluster_.levels[level].switches[at].parent;
    }
  }

  void add(Counts& counts, NodeIndex node) const {
    each_level(node, [&](std::size_t level, std::uint32_t at) { ++counts[level][at]; });
  }

  [[nodiscard]] Worth worth(NodeIndex node) const {
    std::int64_t near = 0;
    each_level(node, [&](std::size_t level, std::uint32_t at) {
      near += weights_[level] * alone_[level][at];
    });
    const auto used = [](const auto& counts, std::string_view label) -> std::int64_t {
      const auto found = label.empty() ? counts.end() : counts.find(label);
      return found == counts.end() ? 0 : found->second;
    };
    return {near, -used(racks_, cluster_.nodes[node].rack),
            -used(power_, cluster_.nodes[node].power)};
  }

  const Cluster& cluster_;
  std::vector<std::int64_t> weights_;  // by level
  Counts all_;  // places below each switch
  Counts alone_;  // the same for switches without a spare, else 0
  bool fresh_ = false;
  std::map<std::string_view, std::int64_t> racks_, power_;  // number of spares in each
};

}  // namespace

std::vector<NodeIndex> choose_spares(const Cluster& cluster, const Objective& objective,
                                     std::span<const NodeIndex> nodes,
                                     std::span<const NodeIndex> free, std::uint32_t count) {
  return Chooser(cluster, objective, nodes).take(free, count);
}

}  // namespace robustrun::topo
