#pragma once
// A few numbers about many runs. Pure.

#include <span>

namespace robustrun::simulator {

// 95 % confidence interval of the mean, by Student's t; of one value it is that value alone.
struct Interval {
  double mean = 0;
  double low = 0;
  double high = 0;
};

[[nodiscard]] Interval interval_of(std::span<const double> values);

}  // namespace robustrun::simulator
