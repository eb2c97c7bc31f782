#pragma once
// Decides when to look for ranks that are slow from their first step on, as no change of pace
// reveals them, and for ranks whose collectives have become slower. Pure; the caller gives the
// time. Owned by the driver, one for the run.
//
// Such a look is cheap: it reads workers' records and torch's recorder, but no stacks. The first
// look is kPaceLookFirst after the first step, then the interval doubles up to kPaceLookLater;
// large jobs are looked at less often. A finding counts when a second look soon after confirms it.

#include <cstdint>
#include <optional>

#include "base/core/clock.h"
#include "tracer/analysis/verdict.h"

namespace robustrun::supervisor {

class PaceLooks {
 public:
  void begin_attempt(std::uint32_t world_size);
  // The furthest worker has done `steps` steps, or collectives if steps are not counted.
  void note_steps(std::uint64_t steps, base::Nanos now);
  [[nodiscard]] bool is_due(base::Nanos now) const;
  // Collectives have become slower: the next looks come soon, for kPaceHaste. Such a period begins
  // at most once in kPaceLookLater, in large jobs less often.
  void hasten(base::Nanos now);
  void begin(base::Nanos now);
  // Ends the look; null: it had no result. True if it confirms the finding of the look before.
  bool take(const tracer::Verdict* verdict, base::Nanos now);

 private:
  [[nodiscard]] bool is_in_haste(base::Nanos now) const;
  base::Nanos least_{};  // least time between looks, for the size of the job
  base::Nanos interval_{};
  std::optional<base::Nanos> next_;  // nullopt: no step yet
  base::Nanos began_{};  // the newest look
  std::optional<base::Nanos> hastened_at_;
  bool is_looking_ = false;
  std::optional<tracer::Verdict> named_;  // by the last look
};

}  // namespace robustrun::supervisor
