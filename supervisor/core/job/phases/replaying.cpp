#include "supervisor/core/job/phases/replaying.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/core/words.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

void Replaying::want(const std::string& why) {
  is_due_ = true;
  orders_.decide(
      Rule::kReplay,
      fmt::format("the cause is not clear ({}): groups of nodes {} before the next start", why,
                  spec_.replays_own_program ? "run the replay command" : "do the alignment test"));
}

bool Replaying::begin(const GroupChoice& choice) {
  is_due_ = false;
  const bool own = spec_.replays_own_program;
  const Obstacle obstacle =
      ReplayCourse::obstacle(choice.members.size(), spec_.policy.replay_unit, own);
  if (obstacle) {
    orders_.decide(Rule::kReplayed, "the replay cannot be done: " + in_words(obstacle));
    return false;
  }
  course_.begin(choice.members, spec_.policy.replay_unit, own);
  send_wave();
  return true;
}

void Replaying::send_wave() {
  ReplayNodes order{++newest_, spec_.policy.replay_limit, {}};
  for (const std::vector<base::NodeId>& members : course_.wave()) {
    std::vector<ReplayNodes::Place>& places = order.groups.emplace_back();
    for (const base::NodeId node : members) {
      places.push_back({node, nodes_.at(node).address, std::max(1U, nodes_.at(node).slots)});
    }
  }
  orders_.give(std::move(order));
  orders_.enter(JobState::kReplaying);
  orders_.set_timer(TimerId::kState, orders_.now() + spec_.policy.replay_limit + kReplayMargin);
}

void Replaying::replayed(const Event& event) {
  const auto& result = body<NodesReplayed>(event);
  if (result.replay != newest_) return;
  if (course_.take(result.groups)) return send_wave();
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) names.push_back(nodes_.name({i}));
  ReplayFinding found = course_.finding(names);
  std::erase_if(found.culprits, [this](base::NodeId node) { return !nodes_.at(node).is_there(); });
  const Obstacle obstacle = evictions_.obstacle(found.culprits, true);
  std::vector<std::string> alternatives;
  if (obstacle) alternatives.push_back(in_words(PassedStep{Step::kEvict, 0, obstacle}));
  orders_.decide(Rule::kReplayed, "the replay: " + found.text, std::move(found.evidence),
                 std::move(alternatives));
  if (!obstacle) {
    Classification looks;
    looks.name = "it fails in a dual-phase replay";
    evictions_.evict(found.culprits, looks);
  }
  go_on();
}

void Replaying::overdue(const Event&) {
  orders_.decide(Rule::kReplayed,
                 fmt::format("the replay did not end within {}; it has no result",
                             base::in_seconds(spec_.policy.replay_limit + kReplayMargin)));
  orders_.give(ReplayNodes{++newest_, {}, {}});
  go_on();
}

void Replaying::go_on() {
  moves_.resume_joining();
  checking_.check_spares();
}

}  // namespace robustrun::supervisor
