#pragma once
// What a checkpoint may hold at most: a file that says more is damaged or hostile. Bytes, counts.

#include <cstddef>
#include <cstdint>

namespace robustrun::checkpoint {

inline constexpr std::uint64_t kBlockBytes = 1U << 20U;         // one CRC each
inline constexpr std::uint64_t kExtentBytes = 8U << 20U;        // a piece at most; a write
inline constexpr std::uint64_t kAlignment = 4096;               // of O_DIRECT
inline constexpr std::uint64_t kSmallAlignment = 64;            // of pieces below a block
inline constexpr std::size_t kHeaderBytesMax = 100'000'000;     // as safetensors itself
inline constexpr std::size_t kManifestBytesMax = 512U << 20U;
inline constexpr std::size_t kControlBytesMax = 4096;           // LATEST, FENCE, VERIFIED
inline constexpr std::size_t kNameBytesMax = 4096;
inline constexpr std::size_t kDimensionsMax = 32;
inline constexpr std::size_t kFilesMax = 1U << 20U;
inline constexpr std::size_t kShardsMax = 1U << 24U;
inline constexpr std::size_t kMountsMax = 256;
inline constexpr std::size_t kWritersMax = 1U << 20U;
inline constexpr std::size_t kAxesMax = 16;
inline constexpr std::size_t kStatesMax = 1U << 20U;
inline constexpr std::size_t kStateBytesMax = 64U << 20U;
inline constexpr std::size_t kAttemptsMax = 100'000;            // looked at in a listing

}  // namespace robustrun::checkpoint
