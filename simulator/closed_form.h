#pragma once
// Formulas for a job's ETTR that need no simulation. Pure.
//
// closed_ettr(): arXiv 2410.21680, "Revisiting Reliability in Large-Scale Machine Learning Research
// Clusters", without time in queues; valid for small losses. young_daly(): Young 1974, Daly 2006.
// standbys(): ByteRobust, arXiv 2509.16293, section 6.2.

#include <cstdint>

#include "simulator/figure.h"

namespace robustrun::simulator {

struct EttrTerms {
  std::uint32_t nodes = 0;
  double per_node_day = 0;  // failures
  Nanos restart{};  // from a failure to the first step
  Nanos interval{};  // between checkpoints, > 0
  Nanos stall{};  // of one checkpoint
};

// (1 - N·r·(u0 + Δ/2)) / (1 + w/Δ), with N = nodes, r = per_node_day, u0 = restart, Δ = interval
// and w = stall, times in days; 0 if negative.
[[nodiscard]] double closed_ettr(const EttrTerms& terms);

// Mean time between failures of any of the machines; Nanos::max() if they never fail.
[[nodiscard]] Nanos time_between_failures(std::uint32_t nodes, double per_node_day);

// sqrt(2·stall·between_failures): the interval between checkpoints at which least time is lost.
[[nodiscard]] Nanos young_daly(Nanos stall, Nanos between_failures);

// The smallest k such that, with a probability of at least `certainty`, no more than k of
// `machines` fail within a day. `daily`: the probability that one machine fails within a day.
[[nodiscard]] std::uint32_t standbys(std::uint32_t machines, double daily, double certainty = 0.99);

}  // namespace robustrun::simulator
