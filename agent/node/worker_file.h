#pragma once
// Reads what a worker wrote for us. It is never trusted: what is no regular file (a FIFO would be
// waited for), is too long, or is empty is an error. Blocks as long as the disk does.

#include <cstddef>
#include <string>

#include "base/core/result.h"

namespace robustrun::agent {

// kLimit: longer than `limit` bytes; kCorrupt: no regular file, or empty. The error's text is a
// sentence about "it".
base::Result<std::string> read_worker_file(const std::string& path, std::size_t limit);

}  // namespace robustrun::agent
