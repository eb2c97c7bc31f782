#pragma once
// CRC32C with the processor's CRC instruction (SSE4.2, or ARMv8's CRC extension). Three streams of
// 4 KiB are computed at a time, because the instruction has a latency of three cycles.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace robustrun::checkpoint {

// Whether this processor can run the functions below.
[[nodiscard]] bool crc32c_in_hardware();

// crc32c() with the instruction.
[[nodiscard]] std::uint32_t crc32c_by_instruction(std::string_view bytes, std::uint32_t crc);
// Copies bytes from the front of `from` to `to` and extends `crc`, the CRC of earlier bytes, by
// them. Returns their number: a multiple of 12 KiB, and 0 if `to` is not aligned to 16 bytes. The
// caller copies the rest. On x86 the writes bypass the processor's caches.
std::size_t crc32c_copy_by_instruction(std::string_view from, char* to, std::uint32_t& crc);

}  // namespace robustrun::checkpoint
