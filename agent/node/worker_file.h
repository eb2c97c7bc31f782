#pragma once
// Reads a file that a worker wrote for the agent. The file is not trusted. Blocks as long as the
// disk does.

#include <cstddef>
#include <string>

#include "base/core/result.h"

namespace robustrun::agent {

// kLimit: longer than `limit` bytes. kCorrupt: not a regular file (a FIFO would block), or empty.
// The error's text is a sentence with the subject "it".
base::Result<std::string> read_worker_file(const std::string& path, std::size_t limit);

}  // namespace robustrun::agent
