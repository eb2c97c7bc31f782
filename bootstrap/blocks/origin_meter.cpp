#include "bootstrap/blocks/origin_meter.h"

namespace robustrun::bootstrap {

void OriginMeter::add(base::Nanos now, std::uint64_t bytes, base::Nanos first_byte) {
  const std::int64_t number = now.count() / 1'000'000'000;
  if (seconds_[newest_].number != number) {
    newest_ = (newest_ + 1) % seconds_.size();
    seconds_[newest_] = {number, 0};
  }
  seconds_[newest_].bytes += bytes;
  const double sample = static_cast<double>(first_byte.count()) / 1000;
  latency_us_ = latency_us_ == 0 ? sample : latency_us_ + (sample - latency_us_) / 8;
}

std::uint64_t OriginMeter::bytes_per_s() const {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < seconds_.size(); ++i) {
    // The newest second is incomplete: it counts only if there is no other.
    if (seconds_[i].number < 0 || i == newest_) continue;
    bytes += seconds_[i].bytes;
    ++count;
  }
  return count == 0 ? seconds_[newest_].bytes : bytes / count;
}

std::uint64_t OriginMeter::latency_us() const { return static_cast<std::uint64_t>(latency_us_); }

}  // namespace robustrun::bootstrap
