#pragma once
// The header of a data file. Data files are valid safetensors files
// (github.com/huggingface/safetensors): u64 length, that many bytes of JSON padded with spaces,
// then the data without gaps.
//
// encode_header() pads so that the data begins at a multiple of kAlignment. Gaps between pieces are
// U8 entries named `__pad_N`. Decoding is bounded and strict: each byte of data belongs to exactly
// one entry, and each entry's size matches its type and shape. Pure.

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

// `entries` are in the order of their data and cover it without gaps. Their names are UTF-8.
[[nodiscard]] std::string encode_header(std::span<const HeaderEntry> entries);

// Decodes the header of a file of `file_bytes` bytes. `bytes` are the file's beginning, with at
// least the whole header. Returns the entries in the order of their data. kCorrupt: the text names
// the fault.
base::Result<std::vector<HeaderEntry>> decode_header(std::string_view bytes,
                                                     std::uint64_t file_bytes);

[[nodiscard]] bool is_padding(std::string_view name);

}  // namespace robustrun::checkpoint
