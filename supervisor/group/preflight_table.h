#pragma once
// The output of `robustrun check`: a line for each node with its equipment, and its findings below.
// Pure.

#include <string>
#include <vector>

#include "supervisor/core/types/preflight.h"

namespace robustrun::supervisor {

// `names`: by NodeId. Of nodes without an entry in `checked` only the verdict is shown.
[[nodiscard]] std::string preflight_table(const std::vector<std::string>& names,
                                          const NodesChecked& checked,
                                          const std::vector<NodeVerdict>& verdicts);

}  // namespace robustrun::supervisor
