#pragma once
// The number of spare machines that suffices on most days. Pure.
//
// Each machine fails independently with the same probability, so the number of failures in one day
// is binomial. As many spares as its 99th percentile suffice on 99 of 100 days, without a repair on
// the same day. ByteRobust (SOSP 2025, arXiv 2509.16293), section 6.2, keeps this number of standby
// machines.

#include <cstdint>

namespace robustrun::topo {

// Failures per machine and day in ByteRobust's clusters.
inline constexpr double kDailyFailureRate = 0.0012;
inline constexpr double kCoveredDays = 0.99;

// The least number of spares that suffices with probability `covered` (above 0, below 1), if each
// of `machines` fails with probability `rate` (0 to 1). O(result).
std::uint32_t spares_that_cover(std::uint32_t machines, double rate = kDailyFailureRate,
                                double covered = kCoveredDays);

}  // namespace robustrun::topo
