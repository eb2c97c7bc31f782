#include "supervisor/core/status/run_totals.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "supervisor/core/report/facts.h"
#include "supervisor/core/types/rule.h"

namespace robustrun::supervisor {

std::string_view to_string(WorkerStage state) {
  constexpr std::array<std::string_view, kWorkerStages> kWords = {"pending", "running", "succeeded",
                                                                  "failed", "stopped"};
  const auto index = static_cast<std::size_t>(state);
  return index < kWords.size() ? kWords[index] : "unknown";
}

void TotalsFold::take(const JournalEntry& entry) {
  if (const auto* event = std::get_if<Event>(&entry.what)) {
    take(*event);
  } else if (const auto* decision = std::get_if<Decision>(&entry.what)) {
    take(*decision);
  } else if (const auto* group = std::get_if<GroupFormed>(&entry.what)) {
    form(*group);
  }
}

void TotalsFold::take(const Event& event) {
  std::visit(
      [&](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (requires { body.attempt; }) {
          if (body.attempt.value > attempt_) begin_attempt(body.attempt.value);
        }
        if constexpr (std::is_same_v<Body, WorkerStarted>) {
          note(body.attempt, body.rank, WorkerStage::kRunning);
        } else if constexpr (std::is_same_v<Body, WorkerStartFailed>) {
          note(body.attempt, body.rank, WorkerStage::kFailed);
        } else if constexpr (std::is_same_v<Body, WorkerExited>) {
          const WorkerStage failed =
              body.stopped_by_us ? WorkerStage::kStopped : WorkerStage::kFailed;
          note(body.attempt, body.rank, body.ended_well() ? WorkerStage::kSucceeded : failed);
        } else if constexpr (std::is_same_v<Body, Progress>) {
          if (body.attempt.value == attempt_) steps_ = std::max(steps_, body.steps);
        } else if constexpr (std::is_same_v<Body, AgentLost>) {
          ++totals_.agents_lost;
        } else if constexpr (std::is_same_v<Body, FaultInjected>) {
          ++totals_.faults_injected;
        } else if constexpr (std::is_same_v<Body, SupervisorResumed>) {
          totals_.supervisors = body.incarnation;
        }
      },
      event.body);
}

void TotalsFold::take(const Decision& decision) {
  if (is_incident(decision.rule)) ++totals_.incidents[decision.rule];
  if (decision.rule == Rule::kHangSuspected) ++totals_.hangs_suspected;
  if (decision.rule == Rule::kHangConvicted) ++totals_.hangs_convicted;
  if (decision.rule == Rule::kHangPassed) ++totals_.hangs_passed;
  const RuleRole role = role_of(decision.rule);
  const bool explains = decision.rule == Rule::kMismatch;  // what was the cause until now
  if (role == RuleRole::kCause && (!cause_ || explains)) cause_ = decision.rule;
  if (role != RuleRole::kVerdict) return;
  if (decision.rule == Rule::kRestart) ++totals_.restarts[cause_.value_or(Rule::kRestart)];
  cause_.reset();
}

void TotalsFold::begin_attempt(std::uint32_t attempt) {
  attempt_ = attempt;
  totals_.earlier_steps += std::exchange(steps_, 0);
  std::ranges::fill(workers_, WorkerStage::kPending);
  totals_.workers = {workers_.size()};
}

void TotalsFold::form(const GroupFormed& group) {
  if (group.attempt.value > attempt_) begin_attempt(group.attempt.value);
  std::size_t size = 0;
  for (const GroupMember& member : group.members) size += member.slots;
  workers_.assign(size, WorkerStage::kPending);
  totals_.workers = {size};
}

void TotalsFold::note(base::Attempt attempt, base::Rank rank, WorkerStage state) {
  if (attempt.value != attempt_ || rank.value >= workers_.size()) return;
  const WorkerStage before = std::exchange(workers_[rank.value], state);
  --totals_.workers[static_cast<std::size_t>(before)];
  ++totals_.workers[static_cast<std::size_t>(state)];
}

}  // namespace robustrun::supervisor
