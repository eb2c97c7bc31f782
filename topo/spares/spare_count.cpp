#include "topo/spares/spare_count.h"

#include <cmath>

#include "base/core/result.h"

namespace robustrun::topo {

std::uint32_t spares_that_cover(std::uint32_t machines, double rate, double covered) {
  RR_ASSERT(rate >= 0 && rate <= 1 && covered > 0 && covered < 1);
  if (rate == 0) return 0;
  if (rate == 1) return machines;
  // In logarithms: the probability that none of very many machines fails underflows a double.
  const double odds = std::log(rate) - std::log1p(-rate);
  double log_chance = machines * std::log1p(-rate);  // for exactly `failed` failures
  double sum = std::exp(log_chance);
  std::uint32_t failed = 0;
  while (sum < covered && failed < machines) {
    log_chance += odds + std::log(static_cast<double>(machines - failed)) -
                  std::log(static_cast<double>(failed + 1));
    sum += std::exp(log_chance);
    ++failed;
  }
  return failed;
}

}  // namespace robustrun::topo
