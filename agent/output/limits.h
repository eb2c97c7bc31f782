#pragma once
// Every bound of the path of worker output in the agent.

#include <chrono>
#include <cstddef>

namespace robustrun::agent {

inline constexpr std::size_t kLogReadBytes = std::size_t{256} << 10;  // one read, one console chunk
inline constexpr std::size_t kLineBytesMax = std::size_t{64} << 10;  // longer lines go in pieces
// A read of this much or more: the stream is busy, its pipe is enlarged and read without a pause.
inline constexpr std::size_t kBusyReadBytes = std::size_t{16} << 10;
inline constexpr std::size_t kBusyPipeBytes = std::size_t{1} << 20;
// Between small reads: one chunk instead of one per line for workers that flush every line.
inline constexpr std::chrono::milliseconds kReadPause{2};
// The rest of a line is passed on when nothing was added to it for at least half this time.
inline constexpr std::chrono::milliseconds kPartialLineMax{100};
// A congested console stops reading for at most this long (more than the console's own
// kConsoleStallMax), then its copy is dropped until it moves again.
inline constexpr std::chrono::seconds kConsolePauseMax{10};

inline constexpr std::size_t kFileCongestedBytes = std::size_t{256} << 10;  // stops reading
inline constexpr std::size_t kFileQueueBytesMax = std::size_t{512} << 10;
inline constexpr std::chrono::seconds kFileStallMax{5};
inline constexpr std::chrono::seconds kFileRetryAfter{1};

// --line-metrics: what is looked at of a line, as long as a name may be (robustrun.step's limit).
inline constexpr std::size_t kMetricLineBytesMax = std::size_t{4} << 10;
inline constexpr std::size_t kMetricNameBytesMax = 24;

inline constexpr std::size_t kTailBytes = std::size_t{64} << 10;
inline constexpr std::size_t kTailLineBytesMax = std::size_t{4} << 10;  // longer ones are cut

}  // namespace robustrun::agent
