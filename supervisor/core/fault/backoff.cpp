#include "supervisor/core/fault/backoff.h"

#include <algorithm>

#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

base::Nanos doubled(base::Nanos first, std::uint32_t times, base::Nanos max) {
  base::Nanos wait = first;
  for (std::uint32_t i = 0; i < std::min(times, kBackoffDoublingsMax) && wait < max; ++i) {
    wait = wait > max / 2 ? max : wait * 2;
  }
  return std::min(wait, max);
}

base::Nanos Backoff::delay(const RestartPolicy& policy, std::uint64_t random) const {
  if (restarts_in_a_row_ == 0 || policy.backoff_first <= base::Nanos{}) return base::Nanos{};
  const base::Nanos full =
      doubled(policy.backoff_first, restarts_in_a_row_ - 1, policy.backoff_max);
  const auto half = static_cast<std::uint64_t>(full.count()) / 2;
  return base::Nanos(static_cast<base::Nanos::rep>(half + random % (half + 1)));
}

}  // namespace robustrun::supervisor
