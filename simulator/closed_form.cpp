#include "simulator/closed_form.h"

#include <algorithm>
#include <cmath>

#include "base/core/result.h"

namespace robustrun::simulator {
namespace {

constexpr double kSecondsOfDay = 24 * 3600.0;
constexpr double kLongest = 9e9;  // seconds; the range of Nanos

}  // namespace

double closed_ettr(const EttrTerms& terms) {
  RR_ASSERT(terms.interval > Nanos{});
  const double per_second = terms.nodes * terms.per_node_day / kSecondsOfDay;
  const double interval = in_seconds(terms.interval);
  const double lost = per_second * (in_seconds(terms.restart) + interval / 2);
  return std::max(0.0, (1 - lost) / (1 + in_seconds(terms.stall) / interval));
}

Nanos time_between_failures(std::uint32_t nodes, double per_node_day) {
  const double per_second = nodes * per_node_day / kSecondsOfDay;
  return per_second * kLongest <= 1 ? Nanos::max() : from_seconds(1 / per_second);
}

Nanos young_daly(Nanos stall, Nanos between_failures) {
  return from_seconds(
      std::min(kLongest, std::sqrt(2 * in_seconds(stall) * in_seconds(between_failures))));
}

// Sums the distribution from 0 on, in logarithms: (1-p)^N underflows for many machines.
std::uint32_t standbys(std::uint32_t machines, double daily, double certainty) {
  if (daily <= 0 || machines == 0) return 0;
  if (daily >= 1) return machines;
  const double odds = std::log(daily) - std::log1p(-daily);
  double term = machines * std::log1p(-daily);  // for k = 0
  double sum = 0;
  for (std::uint32_t k = 0; k < machines; ++k) {
    sum += std::exp(term);
    if (sum >= certainty) return k;
    term += odds + std::log(static_cast<double>(machines - k)) - std::log(k + 1.0);
  }
  return machines;
}

}  // namespace robustrun::simulator
