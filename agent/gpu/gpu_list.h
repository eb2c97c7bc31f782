#pragma once
// The number of GPUs of this machine and the driver's version, according to NVIDIA's management
// library (NVML). The library is loaded at run time, in a helper process (`robustrun agent
// --list-gpus`), because its calls hang when a GPU has fallen off its bus.

#include <string>
#include <string_view>

#include "base/core/node_facts.h"
#include "base/core/result.h"

namespace robustrun::agent {

// Called in the helper. Returns the helper's output, a line per fact. Blocks as long as the library
// does.
[[nodiscard]] std::string list_gpus();

// Parses the helper's output. If the helper failed, Gpus::error says why.
[[nodiscard]] base::Gpus read_gpus(const base::Result<std::string>& answer);

}  // namespace robustrun::agent
