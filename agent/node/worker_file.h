#pragma once
// Reads a file that a worker wrote for us. It is never trusted: anything but a regular file (a FIFO
// would block), a file that is too long, and an empty file are errors. Blocks as long as the disk
// does.

#include <cstddef>
#include <string>

#include "base/core/result.h"

namespace robustrun::agent {

// kLimit: longer than `limit` bytes; kCorrupt: not a regular file, or empty. The error's text is a
// sentence whose subject is "it".
base::Result<std::string> read_worker_file(const std::string& path, std::size_t limit);

}  // namespace robustrun::agent
