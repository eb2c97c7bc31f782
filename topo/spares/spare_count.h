#pragma once
// The number of spare machines that suffices on most days. Pure.
//
// The number of machines that fail in one day is binomial: each fails independently with the same
// probability. Spares at its 99th percentile cover 99 of 100 days without a repair on the same day.
// ByteRobust (SOSP 2025), section 6.2, keeps this number of standbys.

#include <cstdint>

namespace robustrun::topo {

// Failures per machine and day in ByteRobust's clusters.
inline constexpr double kDailyFailureRate = 0.0012;
inline constexpr double kCoveredDays = 0.99;

// The least number that is not exceeded with probability `covered` (between 0 and 1), if each of
// `machines` fails with probability `rate` (0 to 1). O(result).
std::uint32_t spares_that_cover(std::uint32_t machines, double rate = kDailyFailureRate,
                                double covered = kCoveredDays);

}  // namespace robustrun::topo
