#pragma once
// Statistics over several runs. Pure.

#include <cstdint>
#include <span>

namespace robustrun::simulator {

// 95 % confidence interval of the mean, by Student's t (above 31 values: the normal distribution);
// of a single value, that value.
struct Interval {
  double mean = 0;
  double low = 0;
  double high = 0;
};

[[nodiscard]] Interval interval_of(std::span<const double> values);

// Exact 95 % confidence interval of the mean of a Poisson variable, given `count` events (Garwood
// 1936); approximate above 1000 events. Without events it is 0 to 3.69.
[[nodiscard]] Interval poisson_interval(std::uint32_t count);

}  // namespace robustrun::simulator
