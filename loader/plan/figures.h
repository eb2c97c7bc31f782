#pragma once
// How good a step's plan is: its padding, and by how much the slowest rank is slower than the mean.
// Pure. In doubles, because these figures are only displayed.

#include <cstdint>
#include <vector>

#include "loader/plan/planner.h"

namespace robustrun::loader {

// Time of the slowest rank / mean time of all ranks; 1 is perfect.
struct Imbalance {
  double step = 1;  // if ranks wait for each other once per step
  double micro = 1;  // if ranks wait for each other at every micro-batch
};

struct StepFigures {
  std::uint64_t tokens = 0;  // without padding
  double padding = 0;  // share of the step's room that is empty
  // This and `in_order` are for comparison: the same pieces packed by next-fit in the order of
  // drawing, then dealt by deal_in_order().
  double padding_in_order = 0;
  Imbalance planned;
  Imbalance in_order;
  // No deal of these pieces has a lower imbalance: the cost of the costliest piece, divided by the
  // mean cost per rank; at least 1.
  double bound = 1;
};

// check_ranks(spec, ranks) must hold.
[[nodiscard]] StepFigures figures_of(const Spec& spec, const StepPlan& plan, std::uint32_t ranks);

}  // namespace robustrun::loader
