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
constexpr double kTail = 0.025;
// Above this, the limits come from the normal distribution of the cube root.
constexpr std::uint32_t kExactMax = 1000;

// The probability of at most `count` events with this mean.
double poisson_at_most(std::uint32_t count, double mean) {
  double log_term = -mean;
  double sum = std::exp(log_term);
  for (std::uint32_t k = 1; k <= count; ++k) {
    log_term += std::log(mean / k);
    sum += std::exp(log_term);
  }
  return sum;
}

// The mean for which at most `count` events have this probability; it falls as the mean grows.
double mean_where(std::uint32_t count, double probability) {
  double low = 0;
  double high = 2.0 * count + 20;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (poisson_at_most(count, middle) > probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

// Wilson and Hilferty 1931: approximates a chi-square quantile with 2n degrees of freedom, halved.
double gamma_quantile(double n, double normal) {
  const double root = 1 - 1 / (9 * n) + normal / (3 * std::sqrt(n));
  return n * root * root * root;
}

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

Interval poisson_interval(std::uint32_t count) {
  const double seen = count;
  if (count > kExactMax) {
    return {seen, gamma_quantile(seen, -kNormal), gamma_quantile(seen + 1, kNormal)};
  }
  const double low = count == 0 ? 0 : mean_where(count - 1, 1 - kTail);
  return {seen, low, mean_where(count, kTail)};
}

}  // namespace robustrun::simulator
