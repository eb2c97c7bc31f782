#include "topo/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace robustrun::topo {
namespace {

using base::Errc;
using base::fail;
using base::Result;

base::Status check(const Problem& problem) {
  RR_ASSERT(problem.cluster != nullptr && problem.places > 0);
  if (problem.candidates.size() < problem.places) {
    return fail(Errc::kInvalidArgument, fmt::format("cannot place {} nodes: {} are there",
                                                    problem.places, problem.candidates.size()));
  }
  return {};
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
  const auto rest = problem.candidates.begin() + problem.places;
  const auto spares = std::min<std::size_t>(problem.spares, problem.candidates.end() - rest);
  placement.spares.assign(rest, rest + static_cast<std::ptrdiff_t>(spares));
  std::vector<std::uint32_t> slots;
  for (const NodeIndex node : placement.nodes) {
    slots.push_back(std::max(1U, problem.cluster->nodes[node].slots));
  }
  placement.shape = RR_TRY(make_shape(problem.parallel, std::move(slots)));
  placement.score = score(*problem.cluster, placement.shape, problem.objective, placement.nodes);
  placement.how = "in the order of the hosts";
  return placement;
}

Result<Placement> place(const Problem& problem) {
  Problem grouped = problem;
  const auto switches = switches_by_level(*problem.cluster);
  for (const auto& level : switches) {
    std::ranges::stable_sort(grouped.candidates, {}, [&](NodeIndex node) { return level[node]; });
  }
  return place_in_order(grouped);
}

double gap_percent(const Placement& placement) {
  if (placement.score.cost.worst <= placement.bound.worst) return 0;
  if (placement.bound.worst == 0) return 100;
  return 100.0 * static_cast<double>(placement.score.cost.worst - placement.bound.worst) /
         static_cast<double>(placement.bound.worst);
}

}  // namespace robustrun::topo
