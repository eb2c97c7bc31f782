#pragma once
// Every bound of the console.

#include <chrono>
#include <cstddef>

namespace robustrun::supervisor {

inline constexpr std::size_t kConsoleCongestedBytes = std::size_t{1} << 20;  // agents must wait
inline constexpr std::size_t kConsoleQueueBytesMax = std::size_t{4} << 20;   // beyond: dropped
// A terminal or pipe that takes nothing for this long no longer holds up the workers.
inline constexpr std::chrono::seconds kConsoleStallMax{5};
inline constexpr std::chrono::seconds kConsoleRetryAfter{1};  // after a write error (full disk)

// folding of equal lines (line_fold.h)
inline constexpr std::chrono::seconds kFoldWindow{1};
inline constexpr std::size_t kFoldHeldBytesMax = std::size_t{8} << 20;
inline constexpr std::size_t kFoldRanksMax = std::size_t{1} << 17;
inline constexpr std::size_t kFoldRangesMax = 4;  // with more, only the number of ranks is shown

// the live area of a terminal (live_area.h, bar_fold.h)
inline constexpr std::size_t kBarBytesMax = 4096;  // of one state of a progress bar
inline constexpr std::size_t kFrameBytesMax = std::size_t{64} << 10;  // of one frame (frame_fold.h)
inline constexpr std::chrono::milliseconds kLiveDrawInterval{100};  // bars
inline constexpr std::chrono::milliseconds kLiveLineInterval{500};  // the line about the run
inline constexpr unsigned kLiveRowsMin = 6;  // a smaller terminal has no live area
inline constexpr std::chrono::milliseconds kLiveFoldWindow{300};  // kFoldWindow with a live area

// folding of tracebacks (traceback_fold.h)
inline constexpr std::size_t kTracebackLineMax = 160;  // bytes of an exception
inline constexpr std::chrono::seconds kTracebackFollows{5};  // after another rank's began
inline constexpr std::chrono::seconds kTracebackHold{1};
inline constexpr std::size_t kTracebackHeldMax = std::size_t{4} << 20;  // bytes of all ranks

}  // namespace robustrun::supervisor
