// Dual-phase replay as a step of the policy: kReplaying lasts from the first ReplayNodes until the
// last wave of groups is over (replay.h). The faulty machines are evicted, if the run can do
// without them.

#include <fmt/core.h>

#include <algorithm>

#include "base/core/words.h"
#include "supervisor/core/job/group.h"
#include "supervisor/core/job/impl.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

using Agent = NodeState::Agent;

void Job::Impl::want_replay() {
  replay_due = true;
  decide(
      Rule::kReplay,
      fmt::format("the cause is not clear ({}): groups of nodes {} before the next start",
                  outage->looks_like->name,
                  spec.replays_own_program ? "run the replay command" : "do the alignment test"));
}

// Replays the nodes that would run the next attempt. False: nothing could be found out.
bool Job::Impl::begin_replay(const GroupChoice& choice) {
  replay_due = false;
  const bool own = spec.replays_own_program;
  const Obstacle obstacle =
      ReplayCourse::obstacle(choice.members.size(), spec.policy.replay_unit, own);
  if (obstacle) {
    decide(Rule::kReplayed, "the replay cannot be done: " + in_words(obstacle));
    return false;
  }
  replay_course.begin(choice.members, spec.policy.replay_unit, own);
  replay_wave();
  return true;
}

void Job::Impl::replay_wave() {
  ReplayNodes order{++replay, spec.policy.replay_limit, {}};
  for (const std::vector<base::NodeId>& members : replay_course.wave()) {
    std::vector<ReplayNodes::Place>& places = order.groups.emplace_back();
    for (const base::NodeId node : members) {
      places.push_back({node, at(node).address, std::max(1U, at(node).slots)});
    }
  }
  out.push_back(std::move(order));
  enter(JobState::kReplaying);
  set_timer(TimerId::kState, now + spec.policy.replay_limit + kReplayMargin);
}

void Job::Impl::nodes_replayed(const Event& event) {
  const auto& result = body<NodesReplayed>(event);
  if (result.replay != replay) return;
  if (replay_course.take(result.groups)) return replay_wave();
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) names.push_back(name({i}));
  ReplayFinding found = replay_course.finding(names);
  std::erase_if(found.culprits, [this](base::NodeId node) {
    return !at(node).may_work() || at(node).agent != Agent::kJoined;
  });
  const Obstacle obstacle = eviction_obstacle(found.culprits, true);
  std::vector<std::string> alternatives;
  if (obstacle) alternatives.push_back(in_words(PassedStep{Step::kEvict, 0, obstacle}));
  decide(Rule::kReplayed, "the replay: " + found.text, std::move(found.evidence),
         std::move(alternatives));
  if (!obstacle) {
    Classification looks;
    looks.name = "it fails in a dual-phase replay";
    evict(found.culprits, looks);
  }
  go_on_after_replay();
}

void Job::Impl::replay_overdue(const Event&) {
  decide(Rule::kReplayed, fmt::format("the replay did not end within {}; it has no result",
                                      base::in_seconds(spec.policy.replay_limit + kReplayMargin)));
  out.push_back(ReplayNodes{++replay, {}, {}});
  go_on_after_replay();
}

// The waits of kJoining go on from where they were.
void Job::Impl::go_on_after_replay() {
  enter(JobState::kJoining);
  consider_group();
  check_spares();
}

}  // namespace robustrun::supervisor
