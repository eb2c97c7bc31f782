#pragma once
// A few numbers about many runs. Pure.

#include <cstdint>
#include <span>

namespace robustrun::simulator {

// 95 % confidence interval of the mean, by Student's t; of one value it is that value alone.
struct Interval {
  double mean = 0;
  double low = 0;
  double high = 0;
};

[[nodiscard]] Interval interval_of(std::span<const double> values);

// 95 % confidence interval of the mean of a Poisson variable of which `count` were seen, exact
// (Garwood 1936): of none it is 0 to 3.69.
[[nodiscard]] Interval poisson_interval(std::uint32_t count);

}  // namespace robustrun::simulator
