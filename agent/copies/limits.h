#pragma once
// Bounds of memory_tier and of copies that go from node to node.

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::agent {

inline constexpr std::chrono::seconds kBreakpointSaveMax{8};  // less than kLeaveMax
// What the next workers load or save waits longer, as long as something is written: for what takes
// as long as that.
inline constexpr std::chrono::seconds kRescueLook{4};
inline constexpr std::uint64_t kRescueBytesPerSecond = 200'000'000;
inline constexpr std::chrono::seconds kRescueMax{45};
// From StartWorkers on, which comes after each rescue has begun; a worker waits for 90 s.
inline constexpr std::chrono::seconds kSavesGateMax{50};
// Of which a directory that hangs takes no more than this; later on, for one call, twice as much.
inline constexpr std::chrono::seconds kRescueFirstPatience{2};
inline constexpr std::chrono::seconds kRescuePatience{4};
inline constexpr std::uint64_t kCopiesMemoryShare = 2;  // at most one part of what is available
inline constexpr std::size_t kCopiesWaitingMax = 1024;  // workers that ask, and what is saved

// A third of a 25 Gbit/s network, and less than a core at either end.
inline constexpr std::uint64_t kCopiesBytesPerSecond = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kCopiesSlowest = std::uint64_t{4} << 20;  // bytes/s; then it is over
inline constexpr std::chrono::seconds kCopiesPatience{20};  // besides that
inline constexpr std::uint64_t kCopyPieceBytes = std::uint64_t{1} << 20;
inline constexpr std::chrono::milliseconds kCopiesLookEvery{20};  // into the headers of our ranks'
inline constexpr std::chrono::milliseconds kCopiesKeptInterval{1000};
inline constexpr std::chrono::milliseconds kCopyRetryFirst{100};  // after a failure; then doubled
inline constexpr std::chrono::milliseconds kCopyRetryMax{10000};
inline constexpr std::chrono::seconds kCopyFetchMax{40};  // a worker waits for 60 s
inline constexpr unsigned kCopyStreamThreads = 4;  // that receive or serve
inline constexpr std::size_t kCopyStreamsMax = 32;
inline constexpr std::chrono::seconds kCopiesLinger{60};  // of which nobody has spoken any more
inline constexpr std::size_t kCopyRanksMax = 4096;  // of one order

}  // namespace robustrun::agent
