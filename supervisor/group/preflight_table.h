#pragma once
// What `robustrun check` prints: a line for each node with what it has, and below it what was
// found. Pure.

#include <string>
#include <vector>

#include "supervisor/core/types/preflight.h"

namespace robustrun::supervisor {

// `names` by NodeId. Nodes without an entry in `checked` have only their verdict.
[[nodiscard]] std::string preflight_table(const std::vector<std::string>& names,
                                          const NodesChecked& checked,
                                          const std::vector<NodeVerdict>& verdicts);

}  // namespace robustrun::supervisor
