#pragma once
// The stacks of a run's workers as `robustrun top` shows them. Pure.

#include <string>

#include "supervisor/control/stacks_row.h"

namespace robustrun::cli {

// For each distinct stack: its ranks, such as "6 ranks: 0-2, 4-6", and below them the stack,
// innermost frame first. Ends with a newline.
[[nodiscard]] std::string stacks_text(const supervisor::WorkerStacks& stacks);

}  // namespace robustrun::cli
