#include "supervisor/core/job/blame/remedies.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/core/words.h"
#include "supervisor/core/preflight/replay.h"

namespace robustrun::supervisor {
namespace {

bool is_of_the_script(const Classification& looks) {
  return looks.layer == Layer::kUserCode || looks.layer == Layer::kData;
}

}  // namespace

void Remedies::attribute(Outage& outage) const {
  if (!spec_.policy.is_on() || !outage.looks_like) return;
  if (outage.nothing_failed()) return;
  const Classification& own = *outage.looks_like;
  const bool is_clear = own.confidence == Confidence::kHigh && !own.sequel;
  if (is_clear) return;
  const NodeState* newest = nullptr;
  for (const base::NodeId node : group_) {
    const NodeState& one = nodes_.at(node);
    if (!one.suspicion || one.suspected_at + spec_.policy.suspected_for < orders_.now()) continue;
    if (one.suspicion->confidence < own.confidence) continue;
    if (newest == nullptr || one.suspected_at > newest->suspected_at) newest = &one;
  }
  if (newest == nullptr) return;
  Classification looks = *newest->suspicion;
  looks.evidence += fmt::format(", {} before the end of the attempt",
                                base::duration_words(orders_.now() - newest->suspected_at));
  outage.trace_to(std::move(looks), {nodes_.id_of(*newest)});
}

Obstacles Remedies::obstacles(const Outage& outage) const {
  using Kind = Obstacle::Kind;
  Obstacles all;
  const auto of = [&all](Step step) -> Obstacle& { return all[static_cast<std::size_t>(step)]; };
  const Classification& looks = *outage.looks_like;
  if (is_of_the_script(looks)) {
    of(Step::kEvict) = {Kind::kNotTheMachine};
  } else if (!broken_.rather_waits(outage)) {
    of(Step::kEvict) = evictions_.obstacle(outage.nodes, is_of_the_machine(looks));
  }
  if (group_.size() < 2) of(Step::kCheck) = {Kind::kNothingToCompare};
  of(Step::kReplay) =
      ReplayCourse::obstacle(group_.size(), spec_.policy.replay_unit, spec_.replays_own_program);
  if (!updates_.can_roll_back()) {
    of(Step::kRollBack) = {updates_.versions().all.size() == 1 ? Kind::kNotUpdated
                           : updates_.versions().is_changing() ? Kind::kOtherVersionNext
                                                               : Kind::kNoOlderVersion};
  }
  return all;
}

// Whether too many recent failures were traced to one of these machines.
bool Remedies::is_blamed_too_often(const Outage& outage) {
  const Policy& policy = spec_.policy;
  if (policy.blamed == 0 || is_of_the_script(*outage.looks_like)) return false;
  bool too_often = false;
  for (const base::NodeId node : outage.nodes) {
    too_often = count_recent(nodes_.at(node).blamed, policy.blamed_within, orders_.now()) >=
                    policy.blamed ||
                too_often;
  }
  return too_often;
}

StepChoice Remedies::next_step(const Outage& outage) {
  if (!spec_.policy.is_on() || !outage.looks_like) return {};
  const bool too_often = is_blamed_too_often(outage);
  if (broken_.is_surely_broken(outage)) {
    count_recent(nodes_.at(outage.nodes.front()).broken, spec_.policy.blamed_within, orders_.now());
  }
  const bool are_out =
      !outage.nodes.empty() && std::ranges::all_of(outage.nodes, [this](base::NodeId node) {
        return nodes_.at(node).unfit;
      });
  if (are_out) return {};
  const Obstacles in_the_way = obstacles(outage);
  if (too_often && !evictions_.obstacle(outage.nodes, false)) return {Step::kEvict, {}};
  return escalation_.choose(spec_.policy, outage.looks_like->action, in_the_way);
}

}  // namespace robustrun::supervisor
