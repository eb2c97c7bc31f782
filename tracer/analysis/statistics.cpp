#include "tracer/analysis/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/core/result.h"

namespace robustrun::tracer {

double median(std::vector<double> numbers) {
  RR_ASSERT(!numbers.empty());
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::ranges::nth_element(numbers, middle);
  if (numbers.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(numbers.begin(), middle)) / 2;
}

double deviation(std::vector<double> numbers) {
  const double middle = median(numbers);
  for (double& number : numbers) number = std::abs(number - middle);
  return median(std::move(numbers));
}

}  // namespace robustrun::tracer
