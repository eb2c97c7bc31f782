#include "topo/picture/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "base/core/text.h"

namespace robustrun::topo {
namespace {

constexpr std::size_t kSwitchesShown = 6;  // per group

std::string in_units(std::int64_t millionths) {
  return fmt::format("{:.4g}", static_cast<double>(millionths) / static_cast<double>(kWhole));
}

bool holds(std::span<const PlaceIndex> group, PlaceIndex place) {
  return std::ranges::find(group, place) != group.end();
}

class Explanation {
 public:
  Explanation(const Problem& problem, const Placement& placement)
      : problem_(problem),
        cluster_(*problem.cluster),
        placement_(placement),
        switches_(switches_by_level(cluster_)) {}

  std::string of(NodeIndex node) {
    const auto held = std::ranges::find(placement_.nodes, node);
    if (held == placement_.nodes.end()) {
      of_idle(node);
    } else {
      of_working(node, static_cast<PlaceIndex>(held - placement_.nodes.begin()));
    }
    return std::move(out_);
  }

 private:
  struct Try {
    Cost cost;
    PlaceIndex place = 0;
    NodeIndex other = kNoNode;
  };

  [[nodiscard]] std::string name(NodeIndex node) const {
    return base::printable(cluster_.nodes[node].name);
  }

  // "below leaf2, pod1": all levels with several switches.
  [[nodiscard]] std::string whereabouts(NodeIndex node) const {
    std::string text;
    for (std::size_t level = 0; level < cluster_.levels.size(); ++level) {
      const auto& switches = cluster_.levels[level].switches;
      if (switches.size() < 2) continue;
      text +=
          (text.empty() ? "below " : ", ") + base::printable(switches[switches_[level][node]].name);
    }
    return text.empty() ? "below the only switch" : text;
  }

  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> ranks_of(PlaceIndex place) const {
    std::uint32_t first = 0;
    for (PlaceIndex p = 0; p < place; ++p) first += placement_.shape.slots[p];
    return {first, first + placement_.shape.slots[place] - 1};
  }

  void of_working(NodeIndex node, PlaceIndex place) {
    const auto [first, last] = ranks_of(place);
    out_ +=
        fmt::format("{} has place {} (rank{}), {}.\n", name(node), place,
                    first == last ? fmt::format(" {}", first) : fmt::format("s {}-{}", first, last),
                    whereabouts(node));
    if (placement_.shape.families.empty()) out_ += "No group of its ranks spans nodes.\n";
    for (const Family& family : placement_.shape.families) of_group(family, place);
    out_ += "Alternatives:\n";
    std::vector<Try> swaps;
    for (const PlaceIndex other : one_for_each_switch(node)) {
      swaps.push_back(
          {cost_of(place, placement_.nodes[other], other, node), other, placement_.nodes[other]});
    }
    if (const Try* best = cheapest(swaps)) {
      out_ +=
          fmt::format("  exchange with {} (place {}, {}): {}{}\n", name(best->other), best->place,
                      whereabouts(best->other), change_to(best->cost), of_tried(swaps));
    }
    std::vector<Try> spares;
    for (const NodeIndex spare : placement_.spares) {
      if (spares.size() == kTriesMax) break;
      if (!same_slots(spare, node)) continue;
      spares.push_back({cost_of(place, spare), place, spare});
    }
    if (const Try* best = cheapest(spares)) {
      out_ += fmt::format("  spare {} ({}) in its place: {}{}\n", name(best->other),
                          whereabouts(best->other), change_to(best->cost), of_tried(spares));
    }
    if (swaps.empty() && spares.empty()) {
      out_ += "  none: no node below another switch can take its place\n";
    }
  }

  void of_idle(NodeIndex node) {
    const auto spare = std::ranges::find(placement_.spares, node);
    if (spare == placement_.spares.end()) {
      out_ +=
          fmt::format("{} is not used, {}: there are {} working nodes and {} spares.\n", name(node),
                      whereabouts(node), placement_.nodes.size(), placement_.spares.size());
    } else {
      out_ += fmt::format("{} is spare {} of {}, {}.\n", name(node),
                          spare - placement_.spares.begin() + 1, placement_.spares.size(),
                          whereabouts(node));
    }
    std::vector<Try> tries;
    std::vector<PlaceIndex> places = one_for_each_switch(node);
    const auto& lowest = switches_.front();
    for (PlaceIndex place = 0; place < placement_.nodes.size(); ++place) {
      const NodeIndex other = placement_.nodes[place];
      if (lowest[other] != lowest[node] || !same_slots(other, node)) continue;
      places.push_back(place);
      break;
    }
    for (const PlaceIndex place : places) {
      tries.push_back({cost_of(place, node), place, placement_.nodes[place]});
    }
    if (const Try* best = cheapest(tries)) {
      out_ += fmt::format("Instead of {} (place {}, {}): {}{}\n", name(best->other), best->place,
                          whereabouts(best->other), change_to(best->cost), of_tried(tries));
    }
  }

  // "  pp group 4, 8 nodes", and a line per level.
  void of_group(const Family& family, PlaceIndex place) {
    std::uint32_t own = 0;
    while (own < family.groups() && !holds(family.group(own), place)) ++own;
    if (own == family.groups()) return;
    const auto group = family.group(own);
    out_ += fmt::format("  {} group {}, {} nodes\n", to_string(family.kind), own, group.size());
    for (std::size_t level = cluster_.levels.size(); level-- > 0;) {
      if (cluster_.levels[level].switches.size() < 2) continue;
      out_ +=
          fmt::format("    {}: {}\n", cluster_.levels[level].name, on_level(family, group, level));
    }
  }

  [[nodiscard]] std::string on_level(const Family& family, std::span<const PlaceIndex> group,
                                     std::size_t level) const {
    const Level& about = cluster_.levels[level];
    std::map<std::uint32_t, std::uint32_t> counts;
    for (const PlaceIndex one : group) ++counts[switches_[level][placement_.nodes[one]]];
    if (counts.size() == 1) {
      return fmt::format("all below {}",
                         base::printable(about.switches[counts.begin()->first].name));
    }
    std::string text = fmt::format("{} switches: ", counts.size());
    std::size_t shown = 0;
    for (const auto& [at, nodes] : counts) {
      if (shown == kSwitchesShown) {
        text += ", ...";
        break;
      }
      text += fmt::format("{}{} {}", shown++ == 0 ? "" : ", ",
                          base::printable(about.switches[at].name), nodes);
    }
    for (const Spread& spread : placement_.score.spreads) {
      if (spread.kind != family.kind || spread.level != level) continue;
      text += counts.size() == spread.worst ? "; no other group is wider"
                                            : fmt::format("; the widest group: {}", spread.worst);
    }
    return text;
  }

  [[nodiscard]] bool same_slots(NodeIndex a, NodeIndex b) const {
    return cluster_.nodes[a].slots == cluster_.nodes[b].slots;
  }

  // Places to exchange `node` with: one below each other switch of the lowest level.
  [[nodiscard]] std::vector<PlaceIndex> one_for_each_switch(NodeIndex node) const {
    const auto& lowest = switches_.front();
    std::vector<bool> seen(cluster_.levels.front().switches.size(), false);
    seen[lowest[node]] = true;
    std::vector<PlaceIndex> places;
    for (PlaceIndex p = 0; p < placement_.nodes.size() && places.size() < kTriesMax; ++p) {
      const NodeIndex other = placement_.nodes[p];
      if (seen[lowest[other]] || !same_slots(other, node)) continue;
      seen[lowest[other]] = true;
      places.push_back(p);
    }
    return places;
  }

  // The cost with `node` at `place` and, if given, another node elsewhere.
  [[nodiscard]] Cost cost_of(PlaceIndex place, NodeIndex node, PlaceIndex other_place = 0,
                             NodeIndex other = kNoNode) const {
    std::vector<NodeIndex> nodes = placement_.nodes;
    nodes[place] = node;
    if (other != kNoNode) nodes[other_place] = other;
    return score(cluster_, placement_.shape, problem_.objective, nodes).cost;
  }

  [[nodiscard]] static const Try* cheapest(const std::vector<Try>& tries) {
    const auto best = std::ranges::min_element(tries, {}, &Try::cost);
    return best == tries.end() ? nullptr : &*best;
  }

  [[nodiscard]] static std::string of_tried(const std::vector<Try>& tries) {
    return tries.size() < 2 ? "" : fmt::format(" (the best of {} tried)", tries.size());
  }

  [[nodiscard]] std::string change_to(const Cost& cost) const {
    const Cost& now = placement_.score.cost;
    if (cost == now) return "no change";
    if (cost.worst == now.worst) {
      return fmt::format("the same widest group, mean spread {} instead of {}", in_units(cost.mean),
                         in_units(now.mean));
    }
    return fmt::format("weighted spread {} instead of {}", in_units(cost.worst),
                       in_units(now.worst));
  }

  const Problem& problem_;
  const Cluster& cluster_;
  const Placement& placement_;
  const std::vector<std::vector<std::uint32_t>> switches_;
  std::string out_;
};

}  // namespace

std::string explain(const Problem& problem, const Placement& placement, NodeIndex node) {
  RR_ASSERT(problem.cluster != nullptr && node < problem.cluster->nodes.size());
  return Explanation(problem, placement).of(node);
}

}  // namespace robustrun::topo
