#include "cli/plan/loss.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::json_string;

const std::string& name_of(const PlacementPlan& plan, topo::NodeIndex node) {
  return plan.cluster.nodes[node].name;
}

// The ranks of a place: "8-15".
std::string ranks_of(const PlacementPlan& plan, topo::PlaceIndex place) {
  std::uint32_t first = 0;
  const auto& slots = plan.placement.shape.slots;
  for (topo::PlaceIndex before = 0; before < place; ++before) first += slots[before];
  return slots[place] == 1 ? fmt::format("{}", first)
                           : fmt::format("{}-{}", first, first + slots[place] - 1);
}

std::vector<topo::PlaceIndex> changed_places(const Loss& loss) {
  std::vector<topo::PlaceIndex> places = loss.replacement.filled;
  places.insert(places.end(), loss.replacement.moved.begin(), loss.replacement.moved.end());
  std::ranges::sort(places);
  return places;
}

}  // namespace

base::Result<Loss> plan_loss(const PlacementPlan& plan, topo::NodeIndex lost,
                             const base::Clock& clock) {
  const auto& placed = plan.placement.nodes;
  const std::string& name = name_of(plan, lost);
  if (std::ranges::find(placed, lost) == placed.end()) {
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot lose {}: it has no place in this plan", base::printable(name)));
  }
  topo::Problem problem = plan.problem();
  problem.former = placed;
  problem.candidates = plan.placement.spares;
  for (const topo::NodeIndex node : placed) {
    if (node != lost) problem.candidates.push_back(node);
  }
  Loss loss;
  loss.lost = lost;
  const base::Nanos begin = clock.now();
  loss.replacement = RR_TRY(topo::replace(problem, plan.request.rerank, plan.request.costs));
  loss.solving = clock.now() - begin;
  return loss;
}

std::string loss_text(const PlacementPlan& plan, const Loss& loss) {
  if (loss.replacement.filled.empty() && loss.replacement.moved.empty()) {
    return fmt::format("Without {}: no spare of its size; the run waits or shrinks.\n",
                       base::printable(name_of(plan, loss.lost)));
  }
  std::string out = fmt::format("Without {}: {}.\n", base::printable(name_of(plan, loss.lost)),
                                base::printable(loss.replacement.why));
  for (const topo::PlaceIndex place : changed_places(loss)) {
    out += fmt::format("  place {} (ranks {}): {}\n", place, ranks_of(plan, place),
                       base::printable(name_of(plan, loss.replacement.nodes[place])));
  }
  return out;
}

std::string loss_json(const PlacementPlan& plan, const Loss& loss) {
  std::vector<std::string> changes;
  for (const topo::PlaceIndex place : changed_places(loss)) {
    changes.push_back(fmt::format(R"({{"place":{},"name":{}}})", place,
                                  json_string(name_of(plan, loss.replacement.nodes[place]))));
  }
  return fmt::format(R"({{"lost":{},"changes":[{}],"why":{},"solve_us":{}}})"
                     "\n",
                     json_string(name_of(plan, loss.lost)), base::join(changes, ","),
                     json_string(loss.replacement.why),
                     std::chrono::duration_cast<std::chrono::microseconds>(loss.solving).count());
}

}  // namespace robustrun::cli
