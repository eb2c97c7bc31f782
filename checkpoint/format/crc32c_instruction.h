#pragma once
// CRC32C by an instruction of the processor (SSE4.2's, or that of ARMv8's CRC extension). Three
// streams are computed at a time, because the instruction has a latency of three cycles.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace robustrun::checkpoint {

[[nodiscard]] bool crc32c_in_hardware();

// crc32c() by the instruction. Both functions require crc32c_in_hardware().
[[nodiscard]] std::uint32_t crc32c_by_instruction(std::string_view bytes, std::uint32_t crc);
// Copies as many bytes from the front of `from` as suit the method (on x86 past the processor's
// caches), updates `crc` (of the preceding bytes) to include them, and returns their number: 0
// unless `to` is aligned to 16.
std::size_t crc32c_copy_by_instruction(std::string_view from, char* to, std::uint32_t& crc);

}  // namespace robustrun::checkpoint
