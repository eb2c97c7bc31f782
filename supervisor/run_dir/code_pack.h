#pragma once
// The pack of the workers' code (WorkerTemplate::code): a file in the run directory, written before
// the run starts. The supervisor, or its successor, sends it to the nodes in blocks.

#include <cstdint>
#include <string>

#include "base/core/result.h"

namespace robustrun::supervisor {

[[nodiscard]] std::string code_pack_file(const std::string& run_directory);

// Reads one block of the pack at `path`, which has `bytes` bytes. Blocks have wire::kBlockBytesMax
// bytes; the last one may be shorter. kInvalidArgument: there is no such block. kConflict: the file
// is shorter. Blocking.
[[nodiscard]] base::Result<std::string> read_code_block(const std::string& path,
                                                        std::uint64_t bytes, std::uint64_t block);

}  // namespace robustrun::supervisor
