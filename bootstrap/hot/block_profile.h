#pragma once
// Which blocks of a blob a start reads, in the order of the first touch. (hot_profile.h records the
// same for files.) Pure, bounded, fuzzed. docs/formats/block-store.md defines the format.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "bootstrap/store/blob.h"

namespace robustrun::bootstrap {

struct HotBlock {
  std::uint32_t block = 0;
  std::uint32_t missed = 0;  // how many recordings in a row did not contain the block
  bool operator==(const HotBlock&) const = default;
};

struct BlockProfile {
  std::uint64_t length = 0;  // of the blob, in bytes
  std::int64_t made_s = 0;  // Unix time
  std::vector<HotBlock> blocks;  // each at most once
  bool operator==(const BlockProfile&) const = default;
};

// Encodes as text; consecutive blocks share one line.
[[nodiscard]] std::string encode_block_profile(const BlockProfile& profile);
// Checks everything. kLimit: longer than kProfileBytesMax. kCorrupt: anything else.
[[nodiscard]] base::Result<BlockProfile> decode_block_profile(std::string_view text);
// `newest`, followed by the blocks of `before` that it lacks, except blocks that were missing in
// the last kMissedMax recordings, `newest` included. A `before` of another length is ignored.
[[nodiscard]] BlockProfile merge_block_profiles(BlockProfile newest, const BlockProfile& before);

// CACHE/hot/KEY.blocks.
[[nodiscard]] std::string block_profile_path(const std::string& cache, const std::string& key);

}  // namespace robustrun::bootstrap
