#pragma once
// CRC32C with an instruction of the processor (of SSE4.2, or of ARMv8's CRC extension). Three
// streams are computed at a time, because the instruction has a latency of three cycles.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace robustrun::checkpoint {

[[nodiscard]] bool crc32c_in_hardware();

// crc32c() with the instruction. Both functions require crc32c_in_hardware().
[[nodiscard]] std::uint32_t crc32c_by_instruction(std::string_view bytes, std::uint32_t crc);
// Copies bytes from the front of `from` to `to`, on x86 bypassing the processor's caches, and adds
// them to `crc`, the CRC of the bytes before them. Returns their number: a multiple of 12 KiB, and
// 0 if `to` is not aligned to 16 bytes. The caller copies the rest.
std::size_t crc32c_copy_by_instruction(std::string_view from, char* to, std::uint32_t& crc);

}  // namespace robustrun::checkpoint
