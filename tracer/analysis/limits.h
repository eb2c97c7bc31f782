#pragma once
// Bounds of the analyzer: what a verdict may hold, and from where on a thing is worth saying.
//
// Times are compared within one rank, or between ages; clocks of two machines never meet.

#include <cstddef>
#include <cstdint>

#include "base/core/clock.h"

namespace robustrun::tracer {

// Text for people.
inline constexpr std::size_t kRanksNamed = 8;        // of a list; then "and 12 more"
inline constexpr std::size_t kNodesNamed = 3;
inline constexpr std::size_t kCallsNamed = 4;
inline constexpr std::size_t kEvidenceLines = 16;
inline constexpr std::size_t kHearsayLines = 4;
inline constexpr std::size_t kNameBytes = 80;        // of a group, file, function or node; cut
inline constexpr std::size_t kSentenceBytes = 1024;  // cut

// Beyond that many ranks nobody is looked for who has no snapshot.
inline constexpr std::uint32_t kWorldRanksMax = 1U << 20U;

// A rank that somebody waits for is a culprit when the longest wait that leads to it is at least
// this part of the longest of all: others merely happen to be late when the snapshot is taken.
inline constexpr std::int64_t kShareOfLongestWait = 2;  // 1/2

// Below that it is no hang: only then are slow ranks and links looked for (Mycroft's threshold for
// stragglers, arXiv 2509.03018, section 5).
inline constexpr base::Nanos kShortWait = std::chrono::seconds(1);
// Counters of a flow that have not moved for so long stand still.
inline constexpr base::Nanos kFlowStill = std::chrono::seconds(2);

// Slowness.
inline constexpr std::size_t kTimingsLeast = 5;  // operations of which all members have times
inline constexpr std::size_t kEdgesLeast = 4;  // of one kind
inline constexpr double kDeviations = 5;  // median absolute deviations
inline constexpr double kLeastShareLost = 0.5;  // of the median duration
inline constexpr base::Nanos kLeastLost = std::chrono::milliseconds(1);
inline constexpr double kSlowEdgeFactor = 2;  // against the median edge
inline constexpr std::uint64_t kEdgeBytesLeast = 1U << 20U;

// The same by what TCP brings: faster or slower by chance is no matter of several times.
inline constexpr std::size_t kTcpLinksLeast = 3;  // of one kind
inline constexpr double kSlowTcpFactor = 4;  // against one of the best
inline constexpr double kTcpBusyShare = 0.3;  // of the time it has data under way: it matters
inline constexpr std::uint64_t kTcpBytesLeast = 1U << 16U;  // between two looks
inline constexpr base::Nanos kTcpTick = std::chrono::milliseconds(4);  // at 250 Hz

// A rank that comes last again and again, where kernels cannot be timed.
inline constexpr std::size_t kLateMembersLeast = 3;
inline constexpr std::size_t kLateMembersLeastOneClock = 2;
inline constexpr base::Nanos kClockMax{std::int64_t{1} << 61U};  // Unix time, in 2043
inline constexpr base::Nanos kLateClocksApart = std::chrono::hours(1000);  // more is no clock
inline constexpr std::size_t kLateOperationsLeast = 10;
inline constexpr std::size_t kLateTimesLeast = 5;
inline constexpr base::Nanos kLateLeast = std::chrono::milliseconds(20);
inline constexpr base::Nanos kLateLeastOneClock = std::chrono::milliseconds(2);
inline constexpr std::size_t kLateBestPart = 10;  // its best tenth tells how wrong a clock is
inline constexpr int kLateRounds = 4;
inline constexpr double kLateOfAlike = 0.3;  // of the operations that are called in the same way
inline constexpr double kLateShare = 0.8;  // of all late operations are this rank's
inline constexpr double kLateTimeShare = 0.1;  // of the time is lost by them

// The worker is moving when it used more than this part of one processor while it was watched.
inline constexpr double kMovingCpu = 0.1;
// Or read or wrote more: the dumps of its stacks, which it was asked for, are less.
inline constexpr std::uint64_t kMovingIoBytes = std::uint64_t{1} << 20U;

}  // namespace robustrun::tracer
