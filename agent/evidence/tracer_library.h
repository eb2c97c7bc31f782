#pragma once
// Where our profiler plugin for NCCL lies (tracer/nccl).

#include <string>

#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// Its path, beside the folder of our Python package. Empty: not wanted, not there, or longer than
// NCCL has room for (src/plugin/plugin_open.cc of NVIDIA/nccl: MAX_STR_LEN is 255).
[[nodiscard]] std::string tracer_library(const wire::WorkerTemplate& workers);

}  // namespace robustrun::agent
