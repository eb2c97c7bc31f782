#pragma once
// Limits of the path of worker output through the agent.

#include <chrono>
#include <cstddef>

namespace robustrun::agent {

inline constexpr std::size_t kLogReadBytes = std::size_t{256} << 10;  // of one read
inline constexpr std::size_t kLineBytesMax = std::size_t{64} << 10;  // longer lines go in pieces
// After a read of this size or more, the stream counts as busy: its pipe is enlarged and read
// without a pause.
inline constexpr std::size_t kBusyReadBytes = std::size_t{16} << 10;
inline constexpr std::size_t kBusyPipeBytes = std::size_t{1} << 20;
inline constexpr std::size_t kStderrTailLines = 50;  // of a worker, for the report
// Pause between small reads, so that a worker that flushes every line does not cause one message
// per line.
inline constexpr std::chrono::milliseconds kReadPause{2};
// An incomplete line that no longer grows is passed on within this time.
inline constexpr std::chrono::milliseconds kPartialLineMax{100};
// While the console is congested, the worker's output is not read, for at most this long (more than
// the console's own kConsoleStallMax). After that, output skips the console until the congestion
// ends.
inline constexpr std::chrono::seconds kConsolePauseMax{10};

// Bytes that wait to be written to a log file; from kFileCongestedBytes on, output is not read.
inline constexpr std::size_t kFileCongestedBytes = std::size_t{256} << 10;
inline constexpr std::size_t kFileQueueBytesMax = std::size_t{512} << 10;
// A file that takes nothing for this time loses bytes.
inline constexpr std::chrono::seconds kFileStallMax{5};
// For this time after a write error, bytes are dropped.
inline constexpr std::chrono::seconds kFileRetryAfter{1};

// --line-metrics: bytes of a line that are searched, and of a name (as robustrun.step allows).
inline constexpr std::size_t kMetricLineBytesMax = std::size_t{4} << 10;
inline constexpr std::size_t kMetricNameBytesMax = 24;
// After this many searched lines without a value, the supervisor is told.
inline constexpr std::uint64_t kUnmatchedLines = 100;

inline constexpr std::size_t kTailBytes = std::size_t{64} << 10;
inline constexpr std::size_t kTailLineBytesMax = std::size_t{4} << 10;  // longer lines are cut

}  // namespace robustrun::agent
