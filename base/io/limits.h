#pragma once
// Every bound of base/io that is not part of a contract in its header.

#include <chrono>
#include <cstddef>

namespace robustrun::base {

// A journal is read whole; a run's journal stays far below this.
inline constexpr std::size_t kJournalBytesMax = std::size_t{1} << 30;
// One file of /proc about one process: its environment may be long.
inline constexpr std::size_t kProcFileBytesMax = std::size_t{2} << 20;
// How long a log line waits for a stderr that nobody reads, before it is dropped and counted.
inline constexpr std::chrono::milliseconds kLogStallMax{50};
// How long the end of a blocking pool waits for its running jobs before it leaves them behind.
inline constexpr std::chrono::milliseconds kPoolAbandonAfter{500};
// Until a request socket that was out of descriptors tries to accept again.
inline constexpr std::chrono::milliseconds kAcceptPause{100};
// How long a killed tool may take to go; one in D state never does.
inline constexpr std::chrono::milliseconds kToolKillWait{1000};

// code_tree: a folder of code is small; data belongs elsewhere.
inline constexpr std::size_t kCodeFilesMax = 20'000;
inline constexpr std::size_t kCodeBytesMax = std::size_t{256} << 20;
inline constexpr int kCodeDepthMax = 32;

}  // namespace robustrun::base
