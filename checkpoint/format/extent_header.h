#pragma once
// The header of a file of extents, which is a valid safetensors file: u64 length, that many bytes
// of JSON (padded with spaces), then the data without gaps (github.com/huggingface/safetensors).
//
// Ours is padded so that the data begins at a multiple of kAlignment, and holes between pieces are
// entries `__pad_N` of U8. Reading is bounded and strict: what safetensors refuses is refused.
// Pure.

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
  std::uint64_t begin = 0;  // bytes from the beginning of the data
  std::uint64_t end = 0;
  friend bool operator==(const HeaderEntry&, const HeaderEntry&) = default;
};

// `entries` in the order of their data, which they cover without gap. Names: UTF-8.
[[nodiscard]] std::string encode_header(std::span<const HeaderEntry> entries);

// Entries in the order of their data, from the first bytes of a file of `file_bytes` bytes; at
// least the whole header. kCorrupt says what is wrong.
base::Result<std::vector<HeaderEntry>> decode_header(std::string_view bytes,
                                                     std::uint64_t file_bytes);

[[nodiscard]] bool is_padding(std::string_view name);

}  // namespace robustrun::checkpoint
