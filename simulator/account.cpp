#include "simulator/account.h"

#include <algorithm>
#include <numeric>

#include "base/core/result.h"

namespace robustrun::simulator {

const char* to_string(Phase phase) {
  switch (phase) {
    case Phase::kProductive: return "productive";
    case Phase::kCheckpoint: return "checkpoint";
    case Phase::kLost: return "lost";
    case Phase::kDetect: return "detect";
    case Phase::kCulprit: return "culprit";
    case Phase::kReplace: return "replace";
    case Phase::kWaiting: return "waiting";
    case Phase::kRestart: return "restart";
    case Phase::kLoad: return "load";
    case Phase::kResidual: return "residual";
  }
  return "unknown";
}

const char* words_of(Phase phase) {
  switch (phase) {
    case Phase::kProductive: return "productive (ETTR)";
    case Phase::kCheckpoint: return "checkpoint stalls";
    case Phase::kLost: return "lost and repeated";
    case Phase::kDetect: return "until noticed";
    case Phase::kCulprit: return "until the culprit was found";
    case Phase::kReplace: return "stopping and replacing";
    case Phase::kWaiting: return "waiting for machines";
    case Phase::kRestart: return "starting again";
    case Phase::kLoad: return "loading the checkpoint";
    case Phase::kResidual: return "unexplained residual";
  }
  return "unknown";
}

double Account::ettr() const {
  return total == Nanos{} ? 0 : in_seconds(at(Phase::kProductive)) / in_seconds(total);
}

Nanos Account::lost_per_incident() const {
  if (incidents == 0) return {};
  const Nanos kept = at(Phase::kProductive) + at(Phase::kCheckpoint) + at(Phase::kResidual);
  return (total - kept) / static_cast<Nanos::rep>(incidents);
}

void Account::add(Phase phase, Nanos time) {
  RR_ASSERT(time >= Nanos{});
  by_phase[static_cast<std::size_t>(phase)] += time;
}

void Account::add(const Account& other) {
  for (std::size_t i = 0; i < kPhases; ++i) by_phase[i] += other.by_phase[i];
  total += other.total;
  incidents += other.incidents;
}

Account account_for(const Timeline& timeline, const CheckpointPlan& plan) {
  RR_ASSERT(plan.every > Nanos{} && plan.stall >= Nanos{});
  Account account;
  account.total = timeline.total;
  account.incidents = timeline.incidents;
  account.by_phase = timeline.pauses;
  for (const Episode& episode : timeline.episodes) {
    const Nanos::rep cycles = episode.length / (plan.every + plan.stall);
    const Nanos rest = episode.length - cycles * (plan.every + plan.stall);
    const Nanos trained = std::min(rest, plan.every);
    const Nanos safe = cycles * plan.every + (episode.is_lost ? Nanos{} : trained);
    // Slow steps after the last checkpoint count as lost; of those before it, a part of the time
    // was wasted.
    const Nanos slowed = std::min(episode.slowed, safe);
    account.add(Phase::kProductive, safe - slowed);
    account.add(Phase::kDetect, slowed);
    account.add(Phase::kCheckpoint, cycles * plan.stall + (rest - trained));
    if (episode.is_lost) account.add(Phase::kLost, trained);
  }
  const Nanos sum = std::accumulate(account.by_phase.begin(), account.by_phase.end(), Nanos{});
  RR_ASSERT(sum == account.total);
  return account;
}

}  // namespace robustrun::simulator
