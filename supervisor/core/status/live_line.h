#pragma once
// One line about a run, for the bottom of a terminal. Pure.

#include <string>

#include "supervisor/core/status/status.h"

namespace robustrun::supervisor {

// "train.py  step 674/900  37 steps/s  loss 0.0245  1 restart  ETA 0:06". Before the first step:
// the stage of the slowest node, or the ranks for which others wait.
[[nodiscard]] std::string live_line(const RunStatus& status);

}  // namespace robustrun::supervisor
