#pragma once
// Bounds of base/io. Other bounds are in the header or the source file that they concern.

#include <chrono>
#include <cstddef>

namespace robustrun::base {

// A journal is read whole; a run's journal stays far below this size.
inline constexpr std::size_t kJournalBytesMax = std::size_t{1} << 30;
// How long read_input() waits for more bytes from a pipe that the user names as a file.
inline constexpr std::chrono::milliseconds kInputWait{10'000};
// How long write_output() waits for the reader of a pipe that the user names as a file.
inline constexpr std::chrono::milliseconds kOutputWait{10'000};
// Bytes of one journal that are hashed in search of good records behind damage.
inline constexpr std::size_t kJournalSearchBytesMax = std::size_t{256} << 20;
// One file of a process in /proc; its environment may be long.
inline constexpr std::size_t kProcFileBytesMax = std::size_t{2} << 20;
// How long a log line waits for a stderr without a reader before it is dropped and counted.
inline constexpr std::chrono::milliseconds kLogStallMax{50};
// How long the destructor of a blocking pool waits for running jobs before it abandons them.
inline constexpr std::chrono::milliseconds kPoolAbandonAfter{500};
// How long AcceptLoop waits before it accepts again when no descriptor is free.
inline constexpr std::chrono::milliseconds kAcceptPause{100};
// How long a killed tool may take to end; in uninterruptible sleep it never does.
inline constexpr std::chrono::milliseconds kToolKillWait{1000};

// For copy_code(): a folder of code is small; data belongs elsewhere.
inline constexpr std::size_t kCodeFilesMax = 20'000;
inline constexpr std::size_t kCodeBytesMax = std::size_t{256} << 20;
inline constexpr int kCodeDepthMax = 32;

}  // namespace robustrun::base
