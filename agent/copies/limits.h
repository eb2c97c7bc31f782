#pragma once
// Limits of memory_tier.h and of copies that are sent between nodes. "Rescue": saving the copies
// that dead workers left in memory (rescue.h).

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace robustrun::agent {

// After this time a rescue is late (rescue_run.h). Must be less than kLeaveMax (node/limits.h).
inline constexpr std::chrono::seconds kBreakpointSaveMax{8};
// Loads and saves of the next workers wait for a late rescue, too: kBreakpointSaveMax plus the time
// that its copies take at kRescueBytesPerSecond, together at most kRescueMax. A late rescue is
// given up when it has written nothing for kRescueLook.
inline constexpr std::chrono::seconds kRescueLook{4};
inline constexpr std::uint64_t kRescueBytesPerSecond = 200'000'000;
inline constexpr std::chrono::seconds kRescueMax{45};
inline constexpr std::size_t kRescueThreads = 4;  // copies that are saved at once
// How long loads and saves may wait after StartWorkers, which is sent after every rescue has begun.
// A worker waits for 90 s.
inline constexpr std::chrono::seconds kSavesGateMax{50};
// If there are several checkpoint directories, a rescue gives up a directory that does not answer a
// call in time: the first call, or a later one.
inline constexpr std::chrono::seconds kRescueFirstPatience{2};
inline constexpr std::chrono::seconds kRescuePatience{4};
// New memory for copies may take at most this part (1/2) of the memory that is then available.
inline constexpr std::uint64_t kCopiesMemoryShare = 2;
inline constexpr std::size_t kCopiesWaitingMax = 1024;  // jobs that wait for a thread of one pool

// How fast a node sends copies by default: a third of a 25 Gbit/s network, and less than one core
// at either end.
inline constexpr std::uint64_t kCopiesBytesPerSecond = std::uint64_t{1} << 30;
// The time limit of a transfer: its bytes at this rate (bytes per second), plus kCopiesPatience.
inline constexpr std::uint64_t kCopiesSlowest = std::uint64_t{4} << 20;
inline constexpr std::chrono::seconds kCopiesPatience{20};
inline constexpr std::uint64_t kCopyPieceBytes = std::uint64_t{1} << 20;
// How often the agent reads the headers of its ranks' copies.
inline constexpr std::chrono::milliseconds kCopiesLookEvery{20};
// Between reports to the supervisor while nothing changes.
inline constexpr std::chrono::milliseconds kCopiesKeptInterval{1000};
// Wait before the next try after a failure; doubled each time.
inline constexpr std::chrono::milliseconds kCopyRetryFirst{100};
inline constexpr std::chrono::milliseconds kCopyRetryMax{10000};
inline constexpr std::chrono::milliseconds kCopyBusyRetryMax{1000};  // for a fetch from a busy peer
inline constexpr std::chrono::seconds kCopyFetchMax{40};  // a worker waits for 60 s
inline constexpr unsigned kCopyStreamThreads = 4;  // for peers' requests, and as many for fetches
inline constexpr std::size_t kCopyStreamsMax = 32;  // requests of peers that wait for a thread
// After this time, copies that no peer may send any more are freed.
inline constexpr std::chrono::seconds kCopiesLinger{60};
inline constexpr std::size_t kCopyRanksMax = 4096;  // in each list of a PlaceCopies

}  // namespace robustrun::agent
