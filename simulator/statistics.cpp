#include "simulator/statistics.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace robustrun::simulator {
namespace {

// Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom.
constexpr std::array<double, 30> kStudent = {
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
constexpr double kNormal = 1.96;

}  // namespace

Interval interval_of(std::span<const double> values) {
  if (values.empty()) return {};
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  if (values.size() == 1) return {mean, mean, mean};
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const std::size_t freedom = values.size() - 1;
  const double quantile = freedom <= kStudent.size() ? kStudent[freedom - 1] : kNormal;
  const double half = quantile * std::sqrt(squares / (count - 1) / count);
  return {mean, mean - half, mean + half};
}

}  // namespace robustrun::simulator
