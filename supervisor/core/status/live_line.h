#pragma once
// One line about a run, for the bottom of a terminal. Pure.

#include <cstdint>
#include <optional>
#include <string>

#include "supervisor/core/status/status.h"

namespace robustrun::supervisor {

// "train.py  step 674/900  37 steps/s  loss 0.0245  1 restart  ETA 0:06"; during a start the stage
// of the slowest node. `goal`: the steps after which the run ends (--stop-after-steps), if known.
[[nodiscard]] std::string live_line(const RunStatus& status, std::optional<std::uint64_t> goal);

}  // namespace robustrun::supervisor
