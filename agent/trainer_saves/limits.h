#pragma once
// Limits of the looks at checkpoints that trainers write.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::agent {

// file_marks: the end of a zip archive is found within this many bytes of its end
inline constexpr std::size_t kZipTailBytes = 66'000;
// The format's own limit of a safetensors header, and ours; a longer one is not read.
inline constexpr std::uint64_t kSafetensorsHeaderMax = 100'000'000;
inline constexpr std::size_t kHeaderReadMax = std::size_t{8} << 20;
inline constexpr std::size_t kJsonReadMax = std::size_t{16} << 20;  // trainer_state.json, an index
inline constexpr unsigned kShardsMax = 100'000;  // as the names of shards have five digits

// completeness: of one checkpoint, in its folder and the folders in it
inline constexpr std::size_t kEntryNamesMax = 16'384;
inline constexpr std::size_t kEntryFilesReadMax = 512;

// half_written
inline constexpr std::size_t kGlobBytesMax = 1024;
inline constexpr std::size_t kGlobFoldersMax = 256;  // in which matches are looked for
inline constexpr std::size_t kGlobNamesMax = 65'536;  // of all these folders
inline constexpr std::size_t kEntriesLookedAt = 16;  // per folder, the newest
inline constexpr std::size_t kAsideNamesMax = 100;  // names tried for one checkpoint
inline constexpr std::size_t kMovedToldMax = 64;  // per attempt, to the supervisor
inline constexpr std::size_t kLinesOnceMax = 256;  // lines remembered, so that each comes once
// How long a checkpoint that no attempt was seen writing must be unchanged: before the first
// attempt, and later, when no worker of the run lives.
inline constexpr std::chrono::seconds kQuietBeforeFirst{120};
inline constexpr std::chrono::seconds kQuietBetween{10};
inline constexpr std::chrono::seconds kLastSeconds{10};  // of an attempt

}  // namespace robustrun::agent
