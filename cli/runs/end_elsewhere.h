#pragma once
// Waits for the end of a run that was told to stop, and whose supervisor is on another machine: its
// journal tells the end, which is missing if the supervisor is killed before.

#include <chrono>
#include <functional>

#include "base/core/clock.h"
#include "base/core/result.h"

namespace robustrun::cli {

struct EndElsewhere {
  std::function<bool()> has_ended;  // by the journal
  std::function<base::Status()> answers;  // asks the supervisor over the network; may block
  std::function<void(std::chrono::milliseconds)> pause;
};

// kUnavailable: the run has no end, and its supervisor was silent for kElsewhereSilentMax.
[[nodiscard]] base::Status wait_for_end_elsewhere(const EndElsewhere& run,
                                                  const base::Clock& clock);

}  // namespace robustrun::cli
