#pragma once
// Limits of the path of worker output through the agent.

#include <chrono>
#include <cstddef>

namespace robustrun::agent {

inline constexpr std::size_t kLogReadBytes = std::size_t{256} << 10;  // one read
inline constexpr std::size_t kLineBytesMax = std::size_t{64} << 10;  // longer lines go in pieces
// A read of this size or more means a busy stream: its pipe is enlarged and read without a pause.
inline constexpr std::size_t kBusyReadBytes = std::size_t{16} << 10;
inline constexpr std::size_t kBusyPipeBytes = std::size_t{1} << 20;
inline constexpr std::size_t kStderrTailLines = 50;  // of a worker, for the report
// Pause between small reads: workers that flush every line cause one chunk instead of one per line.
inline constexpr std::chrono::milliseconds kReadPause{2};
// An incomplete line is passed on when it has not grown for at least half this time.
inline constexpr std::chrono::milliseconds kPartialLineMax{100};
// While the console is congested, the worker's output is not read, for at most this long (more than
// the console's own kConsoleStallMax). Then output skips the console until it moves again.
inline constexpr std::chrono::seconds kConsolePauseMax{10};

inline constexpr std::size_t kFileCongestedBytes = std::size_t{256} << 10;  // stops reading
inline constexpr std::size_t kFileQueueBytesMax = std::size_t{512} << 10;
inline constexpr std::chrono::seconds kFileStallMax{5};
inline constexpr std::chrono::seconds kFileRetryAfter{1};

// --line-metrics: how much of a line is searched, and how long a name may be (robustrun.step's
// limit).
inline constexpr std::size_t kMetricLineBytesMax = std::size_t{4} << 10;
inline constexpr std::size_t kMetricNameBytesMax = 24;
// If this many lines were searched and none held a value, the supervisor is told.
inline constexpr std::uint64_t kUnmatchedLines = 100;

inline constexpr std::size_t kTailBytes = std::size_t{64} << 10;
inline constexpr std::size_t kTailLineBytesMax = std::size_t{4} << 10;  // longer ones are cut

}  // namespace robustrun::agent
