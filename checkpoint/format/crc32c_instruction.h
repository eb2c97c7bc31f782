#pragma once
// CRC32C by SSE4.2's instruction, three streams at a time, since one waits three cycles for the one
// before.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace robustrun::checkpoint {

[[nodiscard]] bool crc32c_in_hardware();

// As crc32c(). Only if crc32c_in_hardware(), like the next one.
[[nodiscard]] std::uint32_t crc32c_by_instruction(std::string_view bytes, std::uint32_t crc);
// Copies as many bytes as it is good at past the processor's caches, and answers with how many; 0
// unless `to` is aligned to 16. `crc` is that of what came before, and then of these, too.
std::size_t crc32c_copy_by_instruction(std::string_view from, char* to, std::uint32_t& crc);

}  // namespace robustrun::checkpoint
