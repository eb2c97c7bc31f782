#pragma once
// Finds robustrun's profiler plugin for NCCL (tracer/nccl).

#include <string>

#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// The plugin's path, beside the folder of robustrun's Python package. Empty: the run is not traced,
// the file is missing, or the path is longer than NCCL accepts (src/plugin/plugin_open.cc of
// NVIDIA/nccl: MAX_STR_LEN is 255).
[[nodiscard]] std::string tracer_library(const wire::WorkerTemplate& workers);

}  // namespace robustrun::agent
