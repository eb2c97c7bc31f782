#pragma once
// Limits for checkpoints that trainers write.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::agent {

// file_marks: a zip archive's end record is looked for in this many last bytes of the file
inline constexpr std::size_t kZipTailBytes = 66'000;
// The format's own limit of a safetensors header. A header over kHeaderReadMax is not read.
inline constexpr std::uint64_t kSafetensorsHeaderMax = 100'000'000;
inline constexpr std::size_t kHeaderReadMax = std::size_t{8} << 20;
inline constexpr std::size_t kJsonReadMax = std::size_t{16} << 20;  // trainer_state.json, an index
inline constexpr unsigned kShardsMax = 100'000;  // as the names of shards have five digits

// completeness: for one checkpoint, in its folder and the folders in it
inline constexpr std::size_t kEntryNamesMax = 16'384;
inline constexpr std::size_t kEntryFilesReadMax = 512;

// half_written
inline constexpr std::size_t kGlobBytesMax = 1024;
inline constexpr std::size_t kGlobFoldersMax = 256;  // with matches, for one glob
inline constexpr std::size_t kGlobNamesMax = 65'536;  // looked at for one glob
inline constexpr std::size_t kEntriesLookedAt = 16;  // per folder, the newest
inline constexpr std::size_t kAsideNamesMax = 100;  // names tried for one checkpoint
inline constexpr std::size_t kMovedToldMax = 64;  // per attempt, to the supervisor
inline constexpr std::size_t kLinesOnceMax = 256;  // remembered lines, so that each comes once
// How long a checkpoint that the previous attempt did not change must be unchanged: before the
// first attempt, and before later ones.
inline constexpr std::chrono::seconds kQuietBeforeFirst{120};
inline constexpr std::chrono::seconds kQuietBetween{10};
// A checkpoint that changed this shortly before an attempt's end and cannot be judged is reported.
inline constexpr std::chrono::seconds kLastSeconds{10};

}  // namespace robustrun::agent
