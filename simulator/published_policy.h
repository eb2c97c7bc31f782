#pragma once
// Other systems' policies: their published stage times, applied to the same faults as robustrun
// (published_run.h):
//
//   a fault stops training → detect → find the culprit → replace it (or wait for a machine) →
//   restart → load → residual (time that no model explains) → training
//
// Unpublished parts (how they decide) are modelled in their favour: they find the culprit at the
// first attempt, unless `hang_again` says otherwise.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/failure_model.h"
#include "simulator/figure.h"

namespace robustrun::simulator {

using TimesByKind = std::array<Figure<Nanos>, kKinds>;

struct PublishedPolicy {
  std::string name;
  std::string about;
  TimesByKind detect, culprit, replace;
  // If the machine of a hang hangs again: the time that people then take to find it. 0: the machine
  // is found the first time.
  Figure<Nanos> hang_again;
  Figure<std::uint32_t> evicted_for_hang;  // machines that a hang evicts
  // Time until an evicted machine that is sound is back: one evicted together with the culprit of a
  // hang, or one whose fault has passed.
  Figure<Nanos> tested{hours(1), Origin::kAssumed, "no source; until such a machine is back"};
  bool replaces_slow = false;  // false: a slow machine stays until it has recovered
  // true: script start and load are added to `replace`; false: `replace` is the whole restart.
  bool adds_start = true;
  Figure<Nanos> checkpoint_every;  // 0: every step
  std::optional<Figure<Nanos>> checkpoint_stall;  // nullopt: as for the job
};

// torchrun, torchrun-slow, byterobust, byterobust-all-in
[[nodiscard]] const std::vector<PublishedPolicy>& published_policies();
// Null: no policy has this name. The policy lives as long as the program.
[[nodiscard]] const PublishedPolicy* published_policy(std::string_view name);

}  // namespace robustrun::simulator
