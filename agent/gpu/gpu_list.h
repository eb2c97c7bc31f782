#pragma once
// The GPUs of this machine, as NVIDIA's management library counts them. The library is loaded at
// run time, in a helper process (`robustrun agent --list-gpus`): a GPU that has fallen off its bus
// makes its calls hang.

#include <string>
#include <string_view>

#include "base/core/node_facts.h"
#include "base/core/result.h"

namespace robustrun::agent {

// The whole work of the helper: returns what it prints, a line per fact. Blocks as long as the
// library does.
[[nodiscard]] std::string list_gpus();

// Parses what the helper printed, or says why it printed nothing.
[[nodiscard]] base::Gpus read_gpus(const base::Result<std::string>& answer);

}  // namespace robustrun::agent
