#pragma once
// Which build this very process runs: the linker's hash over the executable, from its ELF note
// NT_GNU_BUILD_ID (elf(5)). Read from memory: costs nothing, and a file that was replaced meanwhile
// makes no difference.

#include <string>

namespace robustrun::base {

// In lower-case hex; empty when the linker made none.
[[nodiscard]] std::string build_id();

}  // namespace robustrun::base
