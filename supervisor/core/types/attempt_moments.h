#pragma once
// When each attempt of a run began to train, and what ended that, as the account of the run's time
// has it (report_time.h): for whoever asks how long such things take. Pure, from the journal alone.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::supervisor {

struct Facts;
struct JournalEntry;

// Times of the supervisor's clock.
struct AttemptMoments {
  std::optional<base::Nanos> work;  // its first step; of scripts without steps, its own code
  std::optional<base::Nanos> began;  // it had gone wrong
  std::optional<base::Nanos> known;  // that was noticed
  std::optional<base::Nanos> acted;  // and decided upon
};

// By number of the attempt: all that the journal knows.
[[nodiscard]] std::map<std::uint32_t, AttemptMoments> attempt_moments(
    const Facts& facts, const std::vector<JournalEntry>& entries);

}  // namespace robustrun::supervisor
