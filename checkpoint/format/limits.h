#pragma once
// The sizes of blocks and extents, and upper bounds. A file that exceeds a bound is damaged or
// hostile, and is refused.

#include <cstddef>
#include <cstdint>

namespace robustrun::checkpoint {

inline constexpr std::uint64_t kBlockBytes = 1U << 20U;      // each has one CRC
inline constexpr std::uint64_t kExtentBytes = 8U << 20U;     // the longest piece and write
inline constexpr std::uint64_t kAlignment = 4096;            // of O_DIRECT
inline constexpr std::uint64_t kSmallAlignment = 64;         // of pieces shorter than a block
inline constexpr std::size_t kHeaderBytesMax = 100'000'000;  // safetensors has the same limit
inline constexpr std::size_t kManifestBytesMax = 512U << 20U;
inline constexpr std::size_t kControlBytesMax = 4096;  // LATEST, FENCE, VERIFIED
inline constexpr std::size_t kRunNameBytesMax = 256;   // of a session, in FENCE
inline constexpr std::size_t kReasonBytesMax = 64;     // in POISONED
inline constexpr std::size_t kNameBytesMax = 4096;
inline constexpr std::size_t kNodeNameBytesMax = 256;
inline constexpr std::size_t kDimensionsMax = 32;
inline constexpr std::size_t kFilesMax = 1U << 20U;
inline constexpr std::size_t kShardsMax = 1U << 24U;
inline constexpr std::size_t kMountsMax = 256;
inline constexpr std::uint32_t kWorkersMax = 64;                // threads per mount
inline constexpr std::size_t kWritersMax = 1U << 20U;
inline constexpr std::size_t kAxesMax = 16;
inline constexpr std::size_t kStatesMax = 1U << 20U;
inline constexpr std::size_t kStateBytesMax = 64U << 20U;
inline constexpr std::size_t kGroupMembersMax = 255;  // data and parity together; GF(2^8)
inline constexpr std::uint64_t kMemoryBytesMax = 1ULL << 42U;  // of one rank's copies in memory
inline constexpr std::size_t kSlotHeaderBytes = 4096;  // of one copy in memory
inline constexpr std::size_t kAttemptsMax = 100'000;  // in one listing
inline constexpr std::size_t kTakenNamesMax = 16;  // file names already taken by earlier writers

}  // namespace robustrun::checkpoint
