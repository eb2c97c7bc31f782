#pragma once
// The build of this process: the linker's hash over the executable, from its ELF note
// NT_GNU_BUILD_ID (elf(5)). It is read from memory, so it stays right when the file is replaced.

#include <string>

namespace robustrun::base {

// Returns lower-case hex; empty when the linker wrote no build id.
[[nodiscard]] std::string build_id();

}  // namespace robustrun::base
