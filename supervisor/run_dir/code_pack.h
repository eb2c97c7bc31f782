#pragma once
// The pack of WorkerTemplate::code, in the run's folder before the run starts: for all nodes, and
// for whoever takes the run over.

#include <cstdint>
#include <string>

#include "base/core/result.h"

namespace robustrun::supervisor {

[[nodiscard]] std::string code_pack_file(const std::string& run_directory);

// One of the blocks of wire::kBlockBytesMax of a pack of `bytes`; the last one is shorter.
// kInvalidArgument: there is no such block. Blocks.
[[nodiscard]] base::Result<std::string> read_code_block(const std::string& path,
                                                        std::uint64_t bytes, std::uint64_t block);

}  // namespace robustrun::supervisor
