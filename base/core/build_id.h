#pragma once
// The build of this process: the linker's hash over the executable, from its ELF note
// NT_GNU_BUILD_ID (elf(5)). Read from memory, so it costs nothing and stays right when the file is
// replaced.

#include <string>

namespace robustrun::base {

// In lower-case hex; empty when the linker wrote no build id.
[[nodiscard]] std::string build_id();

}  // namespace robustrun::base
