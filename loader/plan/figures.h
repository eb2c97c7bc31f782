#pragma once
// What a plan is worth: padding, and by how much the slowest rank is slower than the mean. Pure.
// For display only, so in doubles.

#include <cstdint>
#include <vector>

#include "loader/plan/planner.h"

namespace robustrun::loader {

// Time of the slowest rank over the mean of all: 1 is perfect.
struct Imbalance {
  double step = 1;   // ranks wait for each other once per step
  double micro = 1;  // ... at every micro-batch
};

struct StepFigures {
  std::uint64_t tokens = 0;   // without padding
  double padding = 0;         // share of the step's room that is empty
  double padding_in_order = 0;
  Imbalance planned;
  Imbalance in_order;         // next-fit in the order of drawing, then deal_in_order()
  // No deal of whole documents is better than this: the cost of the longest document, divided by
  // the mean cost per rank; at least 1.
  double bound = 1;
};

// check_ranks(spec, ranks) must hold.
[[nodiscard]] StepFigures figures_of(const Spec& spec, const StepPlan& plan, std::uint32_t ranks);

}  // namespace robustrun::loader
