#pragma once
// Reads what a worker left in its TORCHELASTIC_ERROR_FILE (docs/compat.md).
//
// The worker decides about the content: any size, any bytes, any kind of file. A file that cannot
// be parsed becomes an ErrorFile whose message says so. No content makes the agent fail, unlike
// torchrun's.

#include <optional>
#include <string>

#include "wire/messages/messages.h"

namespace robustrun::agent {

// nullopt: `path` is empty or the file does not exist. Blocks for as long as it takes to read a
// small file.
std::optional<wire::ErrorFile> read_error_file(const std::string& path);

}  // namespace robustrun::agent
