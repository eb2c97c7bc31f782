#include "supervisor/core/job/blame/restarts.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/core/clock.h"
#include "base/core/words.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

void Restarts::begin_run() {
  RestartPolicy policy = run_.spec.restart;
  if (run_.spec.compat) {  // torchrun restarts at once and as often as it is told
    policy.crash_loop_stop = false;
    policy.backoff_first = base::Nanos{};
  }
  budget_ = Budget(policy);
}

bool is_failed_start(const Fault& fault) {
  return fault.rule == Rule::kStartFailed && fault.fault_class == FaultClass::kInfrastructure;
}

bool Restarts::may_start_again() const {
  const std::uint32_t times = budget_.failed_starts() + 1;
  const base::Nanos lasted = times == 1 ? base::Nanos{} : orders_.now() - budget_.failing_since();
  const bool is_alone = run_.spec.nodes.size() == 1 && !run_.spec.group.open;
  if (times < kFailedStartsAloneMax) return true;
  if (is_alone || lasted >= run_.spec.group.wait_for_nodes) return false;
  return times < kFailedStartsMax || lasted < kFailedStartsFor;
}

std::string Restarts::failed_starts_in_words(const std::string& last) const {
  const bool is_alone = run_.spec.nodes.size() == 1 && !run_.spec.group.open;
  return fmt::format(
      "giving up: the workers could not be started {} times in a row {}: {}",
      budget_.failed_starts() + 1,
      is_alone ? "and there is no other machine to try"
               : "within " + base::duration_words(orders_.now() - budget_.failing_since()),
      last);
}

// In an open group a lost node's command is started again from outside, at a pace of its own, and
// should find the group at work soon. One that is lost again and again is waited for longer.
base::Nanos Restarts::delay(Rule rule) const {
  const base::Nanos delay =
      backoff_.delay(budget_.policy(), base::Rng(run_.seed + orders_.attempt().value).next());
  const bool may_be_back_soon = run_.spec.group.open && rule == Rule::kAgentLost &&
                                budget_.used_uncounted() < kLostVolunteerWaits;
  return may_be_back_soon ? std::min(delay, kLostVolunteerWaitMax) : delay;
}

}  // namespace robustrun::supervisor
