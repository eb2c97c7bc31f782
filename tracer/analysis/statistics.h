#pragma once
// Robust statistics, which one straggler does not shift. Pure.

#include <vector>

namespace robustrun::tracer {

// The median of at least one number; for an even count, the mean of the middle two.
[[nodiscard]] double median(std::vector<double> numbers);
// The median absolute deviation from the median, unscaled.
[[nodiscard]] double deviation(std::vector<double> numbers);

}  // namespace robustrun::tracer
