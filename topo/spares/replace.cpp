// The cost of a newcomer at a vacant place is that of the groups through this place alone: the
// switches that they touch without it, and whether its switches are among these. Newcomers below
// the same switch are alike, so only one of each is tried. With several vacant places the cheapest
// pair of place and newcomer goes first, since it determines the others' groups.

#include "topo/spares/replace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/core/text.h"
#include "base/core/words.h"
#include "topo/solve/exchange.h"

namespace robustrun::topo {
namespace {

using base::Errc;
using base::fail;
using base::Result;

constexpr std::array<std::string_view, 3> kReranks = {"never", "nodes", "all"};

// A place's groups without the place itself: by family and level, the touched switches.
class Surroundings {
 public:
  Surroundings(const Problem& problem, const Shape& around, PlaceIndex place,
               const std::vector<NodeIndex>& nodes)
      : problem_(problem) {
    for (const Family& family : around.families) {
      for (std::uint32_t g = 0; g < family.groups(); ++g) {
        Group& group = groups_.emplace_back();
        group.weight = problem.objective.kinds.of(family.kind);
        group.touched.resize(problem.cluster->levels.size());
        for (const PlaceIndex member : family.group(g)) {
          if (member == place || nodes[member] == kNoNode) continue;
          each_level(nodes[member], [&](std::size_t level, std::uint32_t at) {
            group.touched[level].push_back(at);
          });
        }
        for (auto& touched : group.touched) {
          std::ranges::sort(touched);
          touched.erase(std::ranges::unique(touched).begin(), touched.end());
        }
      }
    }
  }

  // The cost with `node` at the place: `worst` is the weighted sum over levels of its groups'
  // costs.
  [[nodiscard]] std::int64_t cost(NodeIndex node) const {
    std::int64_t sum = 0;
    for (const Group& group : groups_) {
      each_level(node, [&](std::size_t level, std::uint32_t at) {
        const auto& touched = group.touched[level];
        const bool known = std::ranges::binary_search(touched, at);
        const auto count = static_cast<std::uint32_t>(touched.size() + (known ? 0 : 1));
        sum += group.weight * spread_of(count) * problem_.objective.levels[level] / kWhole;
      });
    }
    return sum;
  }

 private:
  struct Group {
    std::int64_t weight = 0;
    std::vector<std::vector<std::uint32_t>> touched;  // by level: switches, ascending
  };

  template <class Visit>
  void each_level(NodeIndex node, Visit visit) const {
    std::uint32_t at = problem_.cluster->leaf_of[node];
    for (std::size_t level = 0; level < problem_.cluster->levels.size(); ++level) {
      visit(level, at);
      at = problem_.cluster->levels[level].switches[at].parent;
    }
  }

  const Problem& problem_;
  std::vector<Group> groups_;
};

class Replacer {
 public:
  Replacer(const Problem& problem, std::vector<std::uint32_t> slots)
      : problem_(problem), slots_(std::move(slots)), nodes_(problem.former) {
    std::vector<bool> there(problem.cluster->nodes.size(), false);
    for (const NodeIndex node : problem.candidates) there[node] = true;
    std::vector<bool> placed(problem.cluster->nodes.size(), false);
    for (PlaceIndex place = 0; place < nodes_.size(); ++place) {
      if (nodes_[place] != kNoNode && there[nodes_[place]]) {
        placed[nodes_[place]] = true;
      } else {
        nodes_[place] = kNoNode;
        vacant_.push_back(place);
      }
    }
    std::vector<NodeIndex> candidates = problem.candidates;
    std::ranges::sort(candidates);
    for (const NodeIndex node : candidates) {
      if (placed[node]) continue;
      newcomers_[{slots_of(node), problem.cluster->leaf_of[node]}].push_back(node);
    }
    for (auto& [kind, alike] : newcomers_) std::ranges::reverse(alike);  // taken from the end
  }

  [[nodiscard]] const std::vector<PlaceIndex>& vacant() const { return vacant_; }
  [[nodiscard]] const std::vector<NodeIndex>& nodes() const { return nodes_; }

  base::Status fill() {
    std::vector<PlaceIndex> left = vacant_;
    while (!left.empty()) {
      std::optional<Choice> best;
      for (const PlaceIndex place : left) {
        const auto choice = RR_TRY(cheapest(place));
        if (choice && (!best || choice->cost < best->cost)) best = choice;
      }
      if (!best) break;
      nodes_[best->place] = best->node;
      newcomers_.at({slots_of(best->node), problem_.cluster->leaf_of[best->node]}).pop_back();
      std::erase(left, best->place);
    }
    return {};
  }

 private:
  struct Choice {
    PlaceIndex place;
    NodeIndex node;
    std::int64_t cost;
  };
  struct Kind {
    std::uint32_t slots;
    std::uint32_t leaf;
    auto operator<=>(const Kind&) const = default;
  };

  [[nodiscard]] std::uint32_t slots_of(NodeIndex node) const {
    return std::max(1U, problem_.cluster->nodes[node].slots);
  }

  Result<std::optional<Choice>> cheapest(PlaceIndex place) const {
    const Shape around = RR_TRY(shape_around(problem_.parallel, slots_, place));
    const Surroundings surroundings(problem_, around, place, nodes_);
    std::optional<Choice> best;
    for (const auto& [kind, alike] : newcomers_) {
      if (kind.slots != slots_[place] || alike.empty()) continue;
      const std::int64_t cost = surroundings.cost(alike.back());
      if (!best || cost < best->cost) best = Choice{place, alike.back(), cost};
    }
    return best;
  }

  const Problem& problem_;
  std::vector<std::uint32_t> slots_;  // by place
  std::vector<NodeIndex> nodes_;  // by place
  std::vector<PlaceIndex> vacant_;
  std::map<Kind, std::vector<NodeIndex>> newcomers_;
};

// The value of a change minus the cost of moving, in seconds until the next failure.
double gain_seconds(std::int64_t before, std::int64_t after, std::size_t moves,
                    const MovingCosts& costs) {
  const double units = static_cast<double>(before - after) / kWhole;
  return units * costs.step_share_per_unit * costs.seconds_to_failure -
         static_cast<double>(moves) * costs.seconds_per_move;
}

// Number of survivors at a different place.
std::vector<PlaceIndex> moved_places(const std::vector<NodeIndex>& former,
                                     const std::vector<NodeIndex>& nodes) {
  std::vector<NodeIndex> held = former;
  std::ranges::sort(held);
  std::vector<PlaceIndex> moved;
  for (PlaceIndex place = 0; place < nodes.size(); ++place) {
    if (nodes[place] == kNoNode || nodes[place] == former[place]) continue;
    if (std::ranges::binary_search(held, nodes[place])) moved.push_back(place);
  }
  return moved;
}

// Puts a newcomer at a survivor's place, and the survivor at the vacant place, if that gains most.
void exchange(const Problem& problem, const Shape& shape, const MovingCosts& costs,
              Replacement& replacement) {
  Exchange state(problem, shape, replacement.nodes);
  const std::vector<PlaceIndex> vacant = replacement.filled;
  for (const PlaceIndex place : vacant) {
    const std::int64_t before = state.worst();
    std::optional<PlaceIndex> best;
    double most = 0;
    for (PlaceIndex other = 0; other < replacement.nodes.size(); ++other) {
      if (other == place || shape.slots[other] != shape.slots[place]) continue;
      state.swap(place, other);
      const double gain = gain_seconds(before, state.worst(), 1, costs);
      state.swap(place, other);
      if (gain <= most) continue;
      best = other;
      most = gain;
    }
    if (!best) continue;
    state.swap(place, *best);
    std::swap(replacement.nodes[place], replacement.nodes[*best]);
  }
}

std::string_view name(const Problem& problem, NodeIndex node) {
  return problem.cluster->nodes[node].name;
}

// "h9 takes the place of h2, below the same leaf switch l3".
std::string describe(const Problem& problem, PlaceIndex place, NodeIndex newcomer) {
  const NodeIndex gone = problem.former[place];
  if (gone == kNoNode) {
    return fmt::format("{} takes place {}", name(problem, newcomer), place);
  }
  const Cluster& cluster = *problem.cluster;
  std::string where = "no common switch is known";
  std::uint32_t a = cluster.leaf_of[gone];
  std::uint32_t b = cluster.leaf_of[newcomer];
  for (const Level& level : cluster.levels) {
    if (a == b) {
      where = fmt::format("both are below {} {}", level.name, level.switches[a].name);
      break;
    }
    a = level.switches[a].parent;
    b = level.switches[b].parent;
  }
  return fmt::format("{} takes the place of {}: {}", name(problem, newcomer), name(problem, gone),
                     where);
}

std::string describe(const Problem& problem, const Replacement& replacement) {
  std::string text;
  std::size_t newcomers = 0;
  const std::vector<PlaceIndex>& filled = replacement.filled;
  for (const PlaceIndex place : filled) {
    if (newcomers++ == 0) text = describe(problem, place, replacement.nodes[place]);
  }
  if (newcomers > 1) text += fmt::format(" ({} places filled in this way)", newcomers);
  const std::size_t moved = replacement.moved.size();
  if (moved > 0) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{} move{}", base::counted(moved, text.empty() ? "node" : "other node"),
                        moved == 1 ? "s" : "");
  }
  return text;
}

// Slots of a place that was never held.
std::uint32_t largest_newcomer(const Problem& problem) {
  std::uint32_t largest = 1;
  for (const NodeIndex node : problem.candidates) {
    if (std::ranges::find(problem.former, node) != problem.former.end()) continue;
    largest = std::max(largest, problem.cluster->nodes[node].slots);
  }
  return largest;
}

}  // namespace

Result<Rerank> parse_rerank(std::string_view text) {
  const auto found = std::ranges::find(kReranks, text);
  if (found == kReranks.end()) {
    return fail(Errc::kInvalidArgument, fmt::format("cannot use '{}': expected never, nodes or all",
                                                    base::printable(text)));
  }
  return static_cast<Rerank>(found - kReranks.begin());
}

std::string_view to_string(Rerank rerank) { return kReranks[static_cast<std::size_t>(rerank)]; }

Result<Replacement> replace(const Problem& problem, Rerank rerank, const MovingCosts& costs) {
  RR_ASSERT(problem.cluster != nullptr && problem.former.size() == problem.places);
  const bool grows = std::ranges::find(problem.former, kNoNode) != problem.former.end();
  const std::uint32_t open_slots = grows ? largest_newcomer(problem) : 0;
  std::vector<std::uint32_t> slots;
  for (const NodeIndex node : problem.former) {
    slots.push_back(node == kNoNode ? open_slots
                                    : std::max(1U, problem.cluster->nodes[node].slots));
  }
  Replacer replacer(problem, slots);
  RR_TRY(replacer.fill());
  Replacement replacement;
  replacement.nodes = replacer.nodes();
  for (const PlaceIndex place : replacer.vacant()) {
    if (replacement.nodes[place] != kNoNode) replacement.filled.push_back(place);
  }
  const bool complete = std::ranges::find(replacement.nodes, kNoNode) == replacement.nodes.end();
  if (rerank != Rerank::kNever && complete) {
    const Shape shape = RR_TRY(make_shape(problem.parallel, std::move(slots)));
    const auto cost = [&](const std::vector<NodeIndex>& nodes) {
      return score(*problem.cluster, shape, problem.objective, nodes).cost;
    };
    if (std::ranges::find(problem.former, kNoNode) == problem.former.end()) {
      replacement.before = cost(problem.former);
    }
    replacement.after = cost(replacement.nodes);
    const Replacement kept = replacement;
    exchange(problem, shape, costs, replacement);
    replacement.after = cost(replacement.nodes);
    if (rerank == Rerank::kAll) {
      const Placement fresh = RR_TRY(place(problem));
      const std::size_t moves = moved_places(problem.former, fresh.nodes).size();
      const std::size_t fewer = moved_places(problem.former, replacement.nodes).size();
      if (fresh.shape.slots == shape.slots &&
          gain_seconds(kept.after.worst, fresh.score.cost.worst, moves, costs) >
              std::max(0.0,
                       gain_seconds(kept.after.worst, replacement.after.worst, fewer, costs))) {
        replacement.nodes = fresh.nodes;
        replacement.after = fresh.score.cost;
      }
    }
    replacement.moved = moved_places(problem.former, replacement.nodes);
    std::vector<NodeIndex> held = problem.former;
    std::ranges::sort(held);
    replacement.filled.clear();
    for (PlaceIndex place = 0; place < problem.places; ++place) {
      if (!std::ranges::binary_search(held, replacement.nodes[place])) {
        replacement.filled.push_back(place);
      }
    }
  }
  replacement.why = describe(problem, replacement);
  return replacement;
}

}  // namespace robustrun::topo
