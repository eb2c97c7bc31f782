#pragma once
// Limits of memory_tier and of copies that are sent between nodes.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::agent {

inline constexpr std::chrono::seconds kBreakpointSaveMax{8};  // less than kLeaveMax
// Loads and saves of the next workers wait for a rescue for kBreakpointSaveMax and the time that
// its copies take at this rate, while every look finds that bytes were written since the last one;
// for kRescueMax at most.
inline constexpr std::chrono::seconds kRescueLook{4};
inline constexpr std::uint64_t kRescueBytesPerSecond = 200'000'000;
inline constexpr std::chrono::seconds kRescueMax{45};
inline constexpr std::size_t kRescueThreads = 4;  // ranks whose copies are saved at once
// From StartWorkers on, which is sent after every rescue has begun; a worker waits for 90 s.
inline constexpr std::chrono::seconds kSavesGateMax{50};
// Limits for one directory that hangs: in its first call, and in a later call.
inline constexpr std::chrono::seconds kRescueFirstPatience{2};
inline constexpr std::chrono::seconds kRescuePatience{4};
// Copies take at most half of the available memory: one part in this many.
inline constexpr std::uint64_t kCopiesMemoryShare = 2;
inline constexpr std::size_t kCopiesWaitingMax = 1024;  // workers that ask, and copies to save

// A third of a 25 Gbit/s network, and less than one core at either end.
inline constexpr std::uint64_t kCopiesBytesPerSecond = std::uint64_t{1} << 30;
// Bytes per second; the time limit of a transfer assumes this rate.
inline constexpr std::uint64_t kCopiesSlowest = std::uint64_t{4} << 20;
inline constexpr std::chrono::seconds kCopiesPatience{20};  // added to the time at that rate
inline constexpr std::uint64_t kCopyPieceBytes = std::uint64_t{1} << 20;
// How often the headers of this node's ranks are read.
inline constexpr std::chrono::milliseconds kCopiesLookEvery{20};
inline constexpr std::chrono::milliseconds kCopiesKeptInterval{1000};
inline constexpr std::chrono::milliseconds kCopyRetryFirst{100};  // after a failure; then doubled
inline constexpr std::chrono::milliseconds kCopyRetryMax{10000};
inline constexpr std::chrono::milliseconds kCopyBusyRetryMax{1000};  // a fetch from a busy peer
inline constexpr std::chrono::seconds kCopyFetchMax{40};  // a worker waits for 60 s
inline constexpr unsigned kCopyStreamThreads = 4;  // for receiving and serving
inline constexpr std::size_t kCopyStreamsMax = 32;
// After this time, copies that no peer may send any more are freed.
inline constexpr std::chrono::seconds kCopiesLinger{60};
inline constexpr std::size_t kCopyRanksMax = 4096;  // in one order

}  // namespace robustrun::agent
