#pragma once
// How many spare machines are enough on most days. Pure.
//
// The machines that fail on one day are taken for a binomial number: each fails by itself, with
// the same probability. So many spares as its 99th percentile cover 99 days of 100 without a
// repair on the same day. ByteRobust (SOSP 2025), section 6.2, keeps as many standbys.

#include <cstdint>

namespace robustrun::topo {

// Failures per machine and day that ByteRobust reports of its machines.
inline constexpr double kDailyFailureRate = 0.0012;
inline constexpr double kCoveredDays = 0.99;

// The least number that is not exceeded with a probability of `covered` (0 to 1, both exclusive),
// when each of `machines` fails with a probability of `rate` (0 to 1). Takes time by the result.
std::uint32_t spares_that_cover(std::uint32_t machines, double rate = kDailyFailureRate,
                                double covered = kCoveredDays);

}  // namespace robustrun::topo
