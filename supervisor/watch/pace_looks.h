#pragma once
// When to look for a rank that is slow from its first step on, which no change of pace gives away:
// pure, the caller gives the time. Owned by the driver, one for the run.
//
// Such a look is cheap: what workers' records and torch's recorder tell, no stacks. The first comes
// kPaceLookFirst after the first step, the next after twice as long each, up to kPaceLookLater;
// large jobs are looked at less often. What one look names, another has to name, too, soon after.

#include <cstdint>
#include <optional>

#include "base/core/clock.h"
#include "tracer/analysis/verdict.h"

namespace robustrun::supervisor {

class PaceLooks {
 public:
  void begin_attempt(std::uint32_t world_size);
  // The furthest worker has done so many steps, or collectives where nobody counts steps.
  void note_steps(std::uint64_t steps, base::Nanos now);
  [[nodiscard]] bool is_due(base::Nanos now) const;
  void begin(base::Nanos now);
  // Ends the look; null: nothing came of it. True when it names what the one before had named.
  bool take(const tracer::Verdict* verdict, base::Nanos now);

 private:
  base::Nanos least_{};  // from one look to the next, for so large a job
  base::Nanos interval_{};
  std::optional<base::Nanos> next_;  // none: no step yet
  bool is_looking_ = false;
  std::optional<tracer::Verdict> named_;  // by the look before
};

}  // namespace robustrun::supervisor
