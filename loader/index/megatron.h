#pragma once
// Megatron-LM's indexed data sets (megatron/core/datasets/indexed_dataset.py, class _IndexReader).
// PREFIX.bin has the tokens of all sequences. PREFIX.idx has their lengths and places,
// little-endian:
//
//   "MMIDIDX\0\0"  u64 version = 1  u8 type of tokens  u64 sequences  u64 documents + 1
//   i32 length[sequences]  i64 offset in bytes[sequences]  i64 first sequence[documents + 1]
//   for some multimodal sets: i8 mode[sequences]

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::loader {

enum class TokenType : std::uint8_t {  // the codes of Megatron-LM's DType, without floats
  kUint8 = 1,
  kInt8 = 2,
  kInt16 = 3,
  kInt32 = 4,
  kInt64 = 5,
  kUint16 = 8,
};
[[nodiscard]] std::uint32_t bytes_of(TokenType type);  // of one token

struct MegatronIndex {
  TokenType type = TokenType::kUint16;
  std::vector<std::uint32_t> lengths;  // tokens of each sequence
  std::vector<std::uint64_t> offsets;  // of each sequence, in bytes from the start of PREFIX.bin
  std::uint64_t bin_bytes = 0;         // least size of PREFIX.bin
};

// Parses a whole index. kCorrupt: the text says what is wrong and where, without the path.
[[nodiscard]] base::Result<MegatronIndex> parse_megatron_index(std::string_view bytes);

// Reads PREFIX.idx (`path` with or without ".idx" or ".bin") and compares it with the size of
// PREFIX.bin. Blocks.
[[nodiscard]] base::Result<MegatronIndex> read_megatron_index(const std::string& path);

}  // namespace robustrun::loader
