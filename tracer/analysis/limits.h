#pragma once
// Bounds of the analyzer: the size of a verdict, and the thresholds of the rules.
//
// The rules compare times of one rank, or ages. Only rules/late_rank.cpp compares clocks of two
// machines; it first computes from the data how far each clock is off.

#include <cstddef>
#include <cstdint>

#include "base/core/clock.h"

namespace robustrun::tracer {

// Text for people.
inline constexpr std::size_t kRanksNamed = 8;        // in a list; the rest is "and 12 more"
inline constexpr std::size_t kNodesNamed = 3;
inline constexpr std::size_t kCallsNamed = 4;
inline constexpr std::size_t kEvidenceLines = 16;
inline constexpr std::size_t kHearsayLines = 4;
inline constexpr std::size_t kNameBytes = 80;  // group, file, function or node; longer ones are cut
inline constexpr std::size_t kDataWaitBytes = 280;  // source and path, cut
inline constexpr std::size_t kSentenceBytes = 1024;  // cut

// In larger jobs, ranks without a snapshot are not listed.
inline constexpr std::uint32_t kWorldRanksMax = 1U << 20U;

// A rank is a culprit only if the longest wait that leads to it is at least this part of the
// longest wait of all. Other ranks just happen to be late when the snapshot is taken.
inline constexpr std::int64_t kShareOfLongestWait = 2;  // 1/2

// A shorter wait is no hang: the rules for slow ranks and links are then tried first (Mycroft's
// threshold for stragglers, arXiv 2509.03018, section 5).
inline constexpr base::Nanos kShortWait = std::chrono::seconds(1);
// A process that has not ended this long after its script returned is late; exit handlers and the
// joining of threads take time.
inline constexpr base::Nanos kLateEnd = std::chrono::seconds(10);
// A flow whose counters have not changed for this long is stuck.
inline constexpr base::Nanos kFlowStill = std::chrono::seconds(2);

// Slowness.
inline constexpr std::size_t kTimingsLeast = 5;  // operations timed by all members
inline constexpr std::size_t kEdgesLeast = 4;  // within nodes, or between nodes
inline constexpr double kDeviations = 5;  // median absolute deviations
inline constexpr double kLeastShareLost = 0.5;  // of the median duration
inline constexpr base::Nanos kLeastLost = std::chrono::milliseconds(1);
inline constexpr double kSlowEdgeFactor = 2;  // times slower than the median edge
inline constexpr std::uint64_t kEdgeBytesLeast = 1U << 20U;
// Compared with its own history: above kFallenFactor a link or a group has become slower; below
// kSteadyFactor a group counts as unchanged.
inline constexpr double kFallenFactor = 1.5;
inline constexpr double kSteadyFactor = 1.2;
inline constexpr std::uint64_t kRateCountLeast = 3;  // collectives in the last seconds
// As kLeastLost, for a GPU's own work in a kernel with barriers.
inline constexpr base::Nanos kLeastOwnLost = std::chrono::microseconds(50);

// Only after this many operations with equal tags on all members does a different tag mean a
// different call.
inline constexpr std::size_t kTagsAlikeLeast = 8;

// Slow links by TCP throughput.
inline constexpr std::size_t kTcpLinksLeast = 3;  // within nodes, or between nodes
inline constexpr double kSlowTcpFactor = 4;  // times slower than the upper quartile of the links
inline constexpr double kTcpBusyShare =
    0.3;  // a link matters if it has data in flight for this part of the time
inline constexpr std::uint64_t kTcpBytesLeast = 1U << 16U;  // between two looks
inline constexpr base::Nanos kTcpTick = std::chrono::milliseconds(4);  // of a kernel with 250 Hz

// A rank that repeatedly arrives last, where kernels cannot be timed.
inline constexpr std::size_t kLateMembersLeast = 3;  // of a communicator over several machines
inline constexpr std::size_t kLateMembersLeastOneClock = 2;  // of a communicator on one machine
inline constexpr base::Nanos kClockMax{std::int64_t{1} << 61U};  // Unix time, in 2043
inline constexpr base::Nanos kLateClocksApart =
    std::chrono::hours(1000);  // times further apart are not plausible
inline constexpr std::size_t kLateOperationsLeast = 10;
inline constexpr std::size_t kLateTimesLeast = 5;
inline constexpr base::Nanos kLateLeast = std::chrono::milliseconds(20);
inline constexpr base::Nanos kLateLeastOneClock = std::chrono::milliseconds(2);
// In the tenth of the operations in which a machine's earliest rank seems least late, this rank is
// taken to be in time. Its greatest lateness in these operations is the error of the machine's
// clock.
inline constexpr std::size_t kLateBestPart = 10;
inline constexpr int kLateRounds = 4;  // how often this error is computed and removed
// The least shares for a verdict about a rank. "Late": an operation to which it came too late.
inline constexpr double kLateOfAlike = 0.3;  // late ones, of all with the same signatures
inline constexpr double kLateShare = 0.8;  // late ones, of those to which some rank came too late
inline constexpr double kLateTimeShare = 0.1;  // time lost in late ones, of the whole time

// A worker is moving if it used more than this part of one CPU while it was watched.
inline constexpr double kMovingCpu = 0.1;
// It is also moving if it read or wrote more than this; the stack dumps that the agent requested
// are smaller.
inline constexpr std::uint64_t kMovingIoBytes = std::uint64_t{1} << 20U;

}  // namespace robustrun::tracer
