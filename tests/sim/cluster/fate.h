#pragma once
// The fate of an attempt's workers if nothing intervenes, and which of them is slow.

#include <array>
#include <cerrno>
#include <csignal>

#include "tests/sim/cluster/cluster.h"

namespace robustrun::sim {

inline const std::vector<WorkerPlan>& Cluster::plans(const core::StartWorkers& start) {
  std::vector<WorkerPlan>& plans = plans_[start.attempt];
  if (plans.empty()) {
    plans.resize(start.world_size);
    draw_plans(start.attempt, plans);
  }
  return plans;
}

inline void Cluster::draw_plans(base::Attempt attempt, std::vector<WorkerPlan>& plans) {
  constexpr std::uint32_t kAttemptsMax = 200;  // later attempts succeed, so that every run ends
  Dice dice((scenario_.seed << 16U) + 4 * attempt.value);
  const Nanos length = dice.between(seconds(1), minutes(90));
  for (std::uint32_t rank = 0; rank < plans.size(); ++rank) {
    WorkerPlan& plan = plans[rank];
    plan.start_delay = dice.between(milliseconds(1), milliseconds(30));
    plan.life = length + dice.between({}, seconds(2));
    if (queue_.now() >= scenario_.calm_from) plan.life += hours(24 * 30);
    plan.ignores_term = strikes(Mishap::kIgnoresTerm, rank, scenario_.ignores_term);
    plan.unkillable = plan.ignores_term && strikes(Mishap::kUnkillable, rank, scenario_.unkillable);
    if (strikes(Mishap::kSlowStart, rank, scenario_.slow_start)) {
      plan.start_delay = seconds(90);
      invariants_.disturbed();
    }
  }
  if (attempt.value >= kAttemptsMax) return;
  const double fails = scenario_.has_bug ? 1 : 1 - scenario_.finishes;
  if (strikes(Mishap::kAttemptFails, attempt.value, fails)) draw_victim(dice, plans);
}

// One worker fails in some way; the others may notice.
inline void Cluster::draw_victim(Dice& dice, std::vector<WorkerPlan>& plans) {
  using Kind = base::ExitStatus::Kind;
  const auto rank = dice.below(plans.size());
  WorkerPlan& victim = plans[rank];
  victim.life = dice.chance(0.4) ? dice.between(milliseconds(100), seconds(10))
                                 : dice.between(seconds(10), minutes(60));
  if (scenario_.has_bug) {
    victim.life = milliseconds(400);
    victim.end.code = 1;
    victim.end.stderr_tail = {"ImportError: line " + std::to_string(dice.below(1000))};
  } else if (dice.chance(scenario_.start_fails)) {
    victim.start_errno = dice.one_of({ENOENT, EACCES, EAGAIN, EINVAL});
    if (victim.start_errno == EAGAIN) invariants_.disturbed();
  } else if (dice.chance(scenario_.port_conflicts)) {
    plans[0].life = seconds(1);
    plans[0].end.code = 1;
    plans[0].end.error_message = "EADDRINUSE";
    invariants_.disturbed();
  } else if (dice.chance(0.05)) {
    victim.end.shim_lost = true;
    victim.end.kind = Kind::kSignaled;
    victim.end.code = SIGKILL;
    invariants_.disturbed();
  } else if (dice.chance(0.5)) {
    victim.end.kind = Kind::kSignaled;
    victim.end.code = dice.one_of({SIGKILL, SIGSEGV, SIGABRT});
    const bool oom = victim.end.code == SIGKILL && dice.chance(0.5);
    victim.end.oom = oom ? core::OomKiller::kKernel : core::OomKiller::kNo;
  } else {
    victim.end.code = dice.one_of({1, 2, 9, 77, 92, 93, 255});
    victim.end.error_timestamp_s = dice.chance(0.5) ? 1'700'000'000 : 0;
  }
  if (scenario_.spec.policy.is_on() && !scenario_.has_bug && dice.chance(0.5)) {
    constexpr std::array kLines = {"broken", "flaps", "odd", "wrong", "hopeless", "drifts"};
    // In a third of the runs the victim is always the same, which climbs a ladder to its end.
    const std::uint64_t which =
        scenario_.seed % 3 == 0 ? scenario_.seed / 3 : dice.below(kLines.size());
    const char* const line = kLines[which % kLines.size()];
    victim.end.stderr_tail = {line};
    invariants_.disturbed();  // the machine may be to blame
  }
  for (WorkerPlan& plan : plans) {
    if (&plan == &victim || !dice.chance(0.5)) continue;
    plan.life = std::min(plan.life, victim.life + dice.between({}, seconds(5)));
    if (plan.end.code == 0) plan.end.code = 1;
  }
}

}  // namespace robustrun::sim
