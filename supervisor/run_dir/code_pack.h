#pragma once
// The pack of the workers' code (WorkerTemplate::code), in the run's folder before the run starts:
// for all nodes, and for a supervisor that takes the run over.

#include <cstdint>
#include <string>

#include "base/core/result.h"

namespace robustrun::supervisor {

[[nodiscard]] std::string code_pack_file(const std::string& run_directory);

// Reads one block of wire::kBlockBytesMax (the last one is shorter) of the pack at `path`, which
// has `bytes` bytes. kInvalidArgument: there is no such block. Blocking.
[[nodiscard]] base::Result<std::string> read_code_block(const std::string& path,
                                                        std::uint64_t bytes, std::uint64_t block);

}  // namespace robustrun::supervisor
