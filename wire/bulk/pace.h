#pragma once
// A bandwidth limit for bulk data: a token bucket. After a pause, as many bytes may be sent at once
// as the limit allows in the time kBulkBurst. Pure; one thread.

#include <algorithm>
#include <cstdint>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "wire/messages/limits.h"

namespace robustrun::wire {

class BulkPace {
 public:
  explicit BulkPace(std::uint64_t bytes_per_second) : bytes_per_second_(bytes_per_second) {
    RR_ASSERT(bytes_per_second > 0);
  }

  // Accounts for `bytes` sent at `now`; returns how long to wait before sending more.
  base::Nanos take(std::uint64_t bytes, base::Nanos now) {
    paid_until_ = std::max(paid_until_, now - base::Nanos(kBulkBurst));
    const double seconds = static_cast<double>(bytes) / static_cast<double>(bytes_per_second_);
    paid_until_ += base::Nanos(static_cast<std::int64_t>(seconds * 1e9));
    return std::max(base::Nanos{}, paid_until_ - now);
  }

 private:
  std::uint64_t bytes_per_second_;
  base::Nanos paid_until_ = base::Nanos::min() / 2;
};

}  // namespace robustrun::wire
