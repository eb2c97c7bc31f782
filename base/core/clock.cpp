#include "base/core/clock.h"

#include <sys/random.h>

#include <ctime>

#include "base/core/result.h"

namespace robustrun::base {
namespace {

Nanos read_clock(clockid_t id) {
  timespec now{};
  RR_ASSERT(::clock_gettime(id, &now) == 0);
  return std::chrono::seconds(now.tv_sec) + Nanos(now.tv_nsec);
}

}  // namespace

Nanos SystemClock::now() const { return read_clock(CLOCK_MONOTONIC); }

Nanos SystemClock::wall_time() const { return read_clock(CLOCK_REALTIME); }

std::uint64_t Rng::next() {
  state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::uint64_t Rng::below(std::uint64_t bound) {
  RR_ASSERT(bound != 0);
  // Rejects the incomplete last range, so that every value is equally likely.
  const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  std::uint64_t value = next();
  while (value >= limit) value = next();
  return value % bound;
}

std::uint64_t system_seed() {
  std::uint64_t seed = 0;
  RR_ASSERT(::getrandom(&seed, sizeof seed, 0) == static_cast<ssize_t>(sizeof seed));
  return seed;
}

}  // namespace robustrun::base
