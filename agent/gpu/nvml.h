#pragma once
// GPUs, as NVIDIA's management library counts them. The library is loaded at run time, in a helper
// process (`robustrun agent --list-gpus`): a GPU that has fallen off its bus makes its calls hang.

#include <string>
#include <string_view>

#include "base/core/node_facts.h"
#include "base/core/result.h"

namespace robustrun::agent {

// The helper's whole work: what is to be printed, a line for each fact. Blocks as long as the
// library does.
[[nodiscard]] std::string list_gpus();

// What the helper printed, or why it did not.
[[nodiscard]] base::Gpus read_gpus(const base::Result<std::string>& answer);

}  // namespace robustrun::agent
