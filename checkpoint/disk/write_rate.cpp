#include "checkpoint/disk/write_rate.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>

namespace robustrun::checkpoint {
namespace {

// How often a waiting thread checks for a new limit.
constexpr base::Nanos kLook = std::chrono::milliseconds(20);

void wait_for(base::Nanos time) {
  boost::asio::io_context loop;
  boost::system::error_code ignored;
  boost::asio::steady_timer(loop, time).wait(ignored);
}

}  // namespace

void WriteRate::limit(std::uint64_t bytes_per_s) {
  over_ns_ = 0;
  bytes_per_s_ = bytes_per_s;
}

void WriteRate::take(std::uint64_t bytes) {
  if (asked_) *asked_ += bytes;
  const std::uint64_t rate = bytes_per_s_;
  if (rate == 0) return;
  const auto cost =
      static_cast<std::int64_t>(static_cast<double>(bytes) * 1e9 / static_cast<double>(rate));
  std::int64_t before = over_ns_;
  std::int64_t mine = 0;
  do {
    mine = std::max<std::int64_t>(before, clock_.now().count()) + cost;
  } while (!over_ns_.compare_exchange_weak(before, mine));
  while (bytes_per_s_ == rate) {
    const base::Nanos left(mine - clock_.now().count());
    if (left <= base::Nanos(0)) return;
    wait_for(std::min(left, kLook));
  }
}

}  // namespace robustrun::checkpoint
