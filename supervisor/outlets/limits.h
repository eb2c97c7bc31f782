#pragma once
// Every bound of what a run tells other programs.

#include <chrono>
#include <cstddef>

namespace robustrun::supervisor {

// Server of metrics: who asks, and how long a question and its answer may take. Beyond so many at
// a time the one that has been there longest is closed: whoever holds connections keeps out nobody.
inline constexpr std::size_t kVisitorsMax = 16;
inline constexpr std::size_t kVisitHeaderBytesMax = std::size_t{8} << 10;
inline constexpr std::chrono::seconds kVisitMax{5};
// A page is made anew after so long, however often it is asked for.
inline constexpr std::chrono::milliseconds kMetricsFreshFor{500};
inline constexpr std::chrono::seconds kMetricsFileInterval{15};

inline constexpr std::size_t kEventsCongestedBytes = std::size_t{1} << 20;
inline constexpr std::size_t kEventsQueueBytesMax = std::size_t{4} << 20;  // beyond: dropped
inline constexpr std::chrono::seconds kEventsStallMax{5};
inline constexpr std::chrono::seconds kEventsRetryAfter{1};

// The command of --on-incident: one at a time.
inline constexpr std::chrono::seconds kHookTimeMax{30};
inline constexpr std::size_t kHookQueueMax = 16;
inline constexpr std::size_t kHookLinesShown = 20;
inline constexpr std::size_t kHookLineBytesShown = 300;

// At the end of the run: for commands that are still to run, and for each of the files.
inline constexpr std::chrono::seconds kHookFarewellMax{5};
inline constexpr std::chrono::seconds kOutletFarewellMax{2};

inline constexpr unsigned kOutletThreads = 3;  // file, events, command
inline constexpr std::size_t kOutletJobsMax = 8;

}  // namespace robustrun::supervisor
