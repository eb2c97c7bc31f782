#include "topo/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "topo/solve/bound.h"
#include "topo/solve/descend.h"
#include "topo/solve/level_problem.h"
#include "topo/spares/spares.h"

namespace robustrun::topo {
namespace {

using base::Errc;
using base::fail;
using base::Result;

base::Status check(const Problem& problem) {
  RR_ASSERT(problem.cluster != nullptr && problem.places > 0);
  RR_ASSERT(problem.objective.levels.size() == problem.cluster->levels.size());
  if (problem.candidates.size() < problem.places) {
    return fail(Errc::kInvalidArgument, fmt::format("cannot place {} nodes: only {} are available",
                                                    problem.places, problem.candidates.size()));
  }
  return {};
}

std::uint32_t slots_of(const Problem& problem, NodeIndex node) {
  return std::max(1U, problem.cluster->nodes[node].slots);
}

// Nodes of equal slots form a class; a place takes nodes of its class. The largest nodes are taken,
// and come first, so that ranks stay aligned with nodes as far as possible.
struct Classes {
  std::vector<std::uint32_t> slots;  // by class, descending
  std::vector<std::uint32_t> of_node;  // by node of the cluster
  std::vector<std::uint32_t> of_place;

  explicit Classes(const Problem& problem) : of_node(problem.cluster->nodes.size(), 0) {
    for (const NodeIndex node : problem.candidates) slots.push_back(slots_of(problem, node));
    std::ranges::sort(slots, std::greater{});
    const std::vector<std::uint32_t> taken(slots.begin(), slots.begin() + problem.places);
    slots.erase(std::ranges::unique(slots).begin(), slots.end());
    for (const NodeIndex node : problem.candidates) of_node[node] = of(slots_of(problem, node));
    for (const std::uint32_t size : taken) of_place.push_back(of(size));
  }

  [[nodiscard]] std::uint32_t of(std::uint32_t size) const {
    return static_cast<std::uint32_t>(std::ranges::find(slots, size) - slots.begin());
  }
};

// The bound over all levels, with all candidates below their switches.
Cost bound_of(const Problem& problem, const Classes& classes, const Shape& shape,
              const Descent& descent) {
  Cost bound;
  const auto switches = switches_by_level(*problem.cluster);
  for (std::size_t level = 0; level < switches.size(); ++level) {
    if (problem.objective.levels[level] == 0) continue;
    LevelProblem view;
    view.shape = &shape;
    view.switches = static_cast<std::uint32_t>(problem.cluster->levels[level].switches.size());
    view.class_of = classes.of_place;
    view.capacities.assign(view.switches, 0);
    for (const NodeIndex node : problem.candidates) ++view.capacities[switches[level][node]];
    for (const Family& family : shape.families) {
      view.weights.push_back(problem.objective.kinds.of(family.kind));
    }
    const bool solved_here = descent.divided && descent.level == level;
    const std::int64_t one = solved_here ? descent.level_bound : lower_bound(view, false);
    bound.worst += one * problem.objective.levels[level] / kWhole;
  }
  return bound;
}

std::vector<NodeIndex> left_over(const Problem& problem, const std::vector<NodeIndex>& nodes) {
  std::vector<bool> placed(problem.cluster->nodes.size(), false);
  for (const NodeIndex node : nodes) placed[node] = true;
  std::vector<NodeIndex> rest;
  for (const NodeIndex node : problem.candidates) {
    if (!placed[node]) rest.push_back(node);
  }
  return rest;
}

std::vector<std::uint32_t> slots_of(const Problem& problem, const std::vector<NodeIndex>& nodes) {
  std::vector<std::uint32_t> slots;
  for (const NodeIndex node : nodes) slots.push_back(slots_of(problem, node));
  return slots;
}

// Keeps the former holder of each place if the result is as good: no move without a reason. Not for
// nodes of other sizes: the bound holds for the present sizes alone.
void prefer(const Problem& problem, std::vector<NodeIndex> nodes, std::string_view how,
            Placement& placement) {
  if (slots_of(problem, nodes) != placement.shape.slots) return;
  Score other = score(*problem.cluster, placement.shape, problem.objective, nodes);
  if (other.cost > placement.score.cost) return;
  placement.nodes = std::move(nodes);
  placement.score = std::move(other);
  placement.how = how;
}

bool is_there(const Problem& problem, const std::vector<NodeIndex>& nodes) {
  std::vector<bool> there(problem.cluster->nodes.size(), false);
  for (const NodeIndex node : problem.candidates) there[node] = true;
  return nodes.size() == problem.places &&
         std::ranges::all_of(nodes, [&](NodeIndex node) { return node != kNoNode && there[node]; });
}

Method method_of(const Placement& placement, const Descent& descent) {
  if (descent.how.empty()) return Method::kOneSwitch;
  if (placement.score.cost.worst > placement.bound.worst) return Method::kHeuristic;
  return descent.searched ? Method::kExact : Method::kClosedForm;
}

}  // namespace

std::string_view to_string(Method method) {
  constexpr std::array<std::string_view, 4> kNames = {"one switch", "closed form", "exact search",
                                                      "heuristic"};
  return kNames[static_cast<std::size_t>(method)];
}

Result<Placement> place_in_order(const Problem& problem) {
  RR_TRY(check(problem));
  Placement placement;
  placement.nodes.assign(problem.candidates.begin(), problem.candidates.begin() + problem.places);
  placement.shape = RR_TRY(make_shape(problem.parallel, slots_of(problem, placement.nodes)));
  placement.score = score(*problem.cluster, placement.shape, problem.objective, placement.nodes);
  placement.spares = left_over(problem, placement.nodes);
  if (placement.spares.size() > problem.spares) placement.spares.resize(problem.spares);
  placement.how = "in the order of the hosts";
  return placement;
}

Result<Placement> place(const Problem& given) {
  RR_TRY(check(given));
  Problem problem = given;
  std::ranges::sort(problem.candidates);
  const Classes classes(problem);
  Placement placement;
  std::vector<std::uint32_t> slots;
  for (const std::uint32_t which : classes.of_place) slots.push_back(classes.slots[which]);
  placement.shape = RR_TRY(make_shape(problem.parallel, std::move(slots)));
  Descent descent = descend(*problem.cluster, problem.objective, placement.shape, classes.of_place,
                            classes.of_node, problem.candidates);
  placement.nodes = std::move(descent.nodes);
  placement.how = descent.how.empty() ? "all below one switch" : descent.how;
  placement.score = score(*problem.cluster, placement.shape, problem.objective, placement.nodes);
  placement.bound = bound_of(problem, classes, placement.shape, descent);
  prefer(problem, {problem.candidates.begin(), problem.candidates.begin() + problem.places},
         "natural order, which is as good as any", placement);
  if (is_there(problem, problem.former)) {
    prefer(problem, problem.former, "unchanged: nothing is better", placement);
  }
  placement.method = method_of(placement, descent);
  placement.spares = choose_spares(*problem.cluster, problem.objective, placement.nodes,
                                   left_over(problem, placement.nodes), problem.spares);
  return placement;
}

double gap_percent(const Placement& placement) {
  if (placement.score.cost.worst <= placement.bound.worst) return 0;
  if (placement.bound.worst == 0) return 100;
  return 100.0 * static_cast<double>(placement.score.cost.worst - placement.bound.worst) /
         static_cast<double>(placement.bound.worst);
}

}  // namespace robustrun::topo
