#pragma once
// Other ways to look after a job, as small machines with published stage times over the same trace:
//
//   a fault stops training → detect → find the culprit → replace it (or wait for a machine) →
//   restart → load → residual → training
//
// What cannot be published of them (how they decide) is as favourable to them as it can be: they
// always find the culprit at the first time, unless `finds_hangs` says otherwise.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/account.h"
#include "simulator/fault_trace.h"
#include "simulator/job_terms.h"

namespace robustrun::simulator {

using TimesByKind = std::array<Figure<Nanos>, kKinds>;

struct PublishedPolicy {
  std::string name;
  std::string about;
  TimesByKind detect, culprit, replace;
  // Of a hang whose machine hangs again: what it takes people then. 0: found the first time.
  Figure<Nanos> hang_again;
  Figure<std::uint32_t> evicted_for_hang;  // machines at a time
  Figure<Nanos> tested{hours(1), Origin::kAssumed, "no source; until such a machine is back"};
  bool replaces_slow = false;  // else it stays until it is fast again
  // Script start and load come on top of `replace`; without, that is all of a restart.
  bool adds_start = true;
  Figure<Nanos> checkpoint_every;  // 0: every step
  std::optional<Figure<Nanos>> checkpoint_stall;  // none: as the job's
};

// torchrun, torchrun-slow, byterobust, byterobust-all-in
[[nodiscard]] const std::vector<PublishedPolicy>& published_policies();
[[nodiscard]] const PublishedPolicy* published_policy(std::string_view name);

[[nodiscard]] Timeline run_published(const PublishedPolicy& policy, const JobTerms& job,
                                     const std::vector<TracedFault>& trace);
[[nodiscard]] CheckpointPlan checkpoints_of(const PublishedPolicy& policy, const JobTerms& job);

}  // namespace robustrun::simulator
