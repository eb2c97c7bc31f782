#pragma once
// A run's status as text for a terminal: how the run stands, then the table of its nodes. Pure.

#include <cstddef>
#include <string>

#include "supervisor/core/status/status.h"

namespace robustrun::supervisor {

// `width`: columns. `colour`: with ANSI colours. `nodes_max`: nodes in the table at most.
[[nodiscard]] std::string render_status(const RunStatus& status, bool colour, int width,
                                        std::size_t nodes_max);

}  // namespace robustrun::supervisor
