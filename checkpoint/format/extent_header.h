#pragma once
// The header of an extent file, which is a valid safetensors file: u64 length, that many bytes of
// JSON (padded with spaces), then the data without gaps (github.com/huggingface/safetensors).
//
// Our headers are padded so that the data begins at a multiple of kAlignment, and gaps between
// pieces are U8 entries named `__pad_N`. Reading is bounded and strict: it refuses what safetensors
// refuses. Pure.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::checkpoint {

struct HeaderEntry {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;  // bytes from the start of the data
  std::uint64_t end = 0;
  friend bool operator==(const HeaderEntry&, const HeaderEntry&) = default;
};

// Encodes `entries`, which are in the order of their data and cover it without gaps. Names are
// UTF-8.
[[nodiscard]] std::string encode_header(std::span<const HeaderEntry> entries);

// Decodes the header from `bytes`, which begin a file of `file_bytes` bytes and hold at least the
// whole header. Returns the entries in the order of their data. kCorrupt: the text names the fault.
base::Result<std::vector<HeaderEntry>> decode_header(std::string_view bytes,
                                                     std::uint64_t file_bytes);

[[nodiscard]] bool is_padding(std::string_view name);

}  // namespace robustrun::checkpoint
