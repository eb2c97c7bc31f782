#pragma once
// Medians, which a straggler cannot move. Pure.

#include <vector>

namespace robustrun::tracer {

// Of at least one number; of an even count the mean of the middle two.
[[nodiscard]] double median(std::vector<double> numbers);
// Median absolute deviation from the median, unscaled.
[[nodiscard]] double deviation(std::vector<double> numbers);

}  // namespace robustrun::tracer
