#pragma once
// Measures the origin: bytes per second over the last seconds that had requests, without the newest
// one, which is incomplete; and the typical time to the first byte. Pure.

#include <array>
#include <cstdint>

#include "base/core/clock.h"

namespace robustrun::bootstrap {

class OriginMeter {
 public:
  // Notes a request: `bytes` received, `first_byte` the time to the first of them.
  void add(base::Nanos now, std::uint64_t bytes, base::Nanos first_byte);
  [[nodiscard]] std::uint64_t bytes_per_s() const;
  [[nodiscard]] std::uint64_t latency_us() const;

 private:
  struct Second {
    std::int64_t number = -1;
    std::uint64_t bytes = 0;
  };
  std::array<Second, 8> seconds_{};  // the last seconds with data, in a ring
  std::size_t newest_ = 0;
  double latency_us_ = 0;
};

}  // namespace robustrun::bootstrap
