#pragma once
// Formulas for a job's ETTR that need no simulation. Pure.
//
// closed_ettr(): arXiv 2410.21680, "Revisiting Reliability in Large-Scale Machine Learning Research
// Clusters", without queueing; for small losses. young_daly(): Young 1974, Daly 2006. standbys():
// ByteRobust, arXiv 2509.16293, section 6.2.

#include <cstdint>

#include "simulator/figure.h"

namespace robustrun::simulator {

struct EttrTerms {
  std::uint32_t nodes = 0;
  double per_node_day = 0;
  Nanos restart{};  // u0: from a failure to the first step
  Nanos interval{};  // between checkpoints, > 0
  Nanos stall{};  // of one checkpoint
};

// (1 - N·r·(u0 + Δ/2)) / (1 + w/Δ); 0 where that is negative.
[[nodiscard]] double closed_ettr(const EttrTerms& terms);

// Mean time between failures of any of the machines; Nanos::max() when they never fail.
[[nodiscard]] Nanos time_between_failures(std::uint32_t nodes, double per_node_day);

// sqrt(2·w·MTBF).
[[nodiscard]] Nanos young_daly(Nanos stall, Nanos between_failures);

// The smallest k such that at most k of `machines`, each of which fails within a day with
// probability `daily`, fail with probability `certainty`.
[[nodiscard]] std::uint32_t standbys(std::uint32_t machines, double daily, double certainty = 0.99);

}  // namespace robustrun::simulator
