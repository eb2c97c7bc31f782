#pragma once
// The source of time and of random numbers. Only the shim and the tracer plugin read the clock
// themselves.
//
// Production uses SystemClock and seeds Rng from the system; tests pass their own clock and a
// printed seed.

#include <chrono>
#include <cstdint>

namespace robustrun::base {

// A duration, or a point of time as the duration since its clock's origin.
using Nanos = std::chrono::nanoseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Nanos now() const = 0;  // monotonic; not comparable across machines
  [[nodiscard]] virtual Nanos wall_time() const = 0;  // since the Unix epoch; it may jump
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] Nanos now() const override;
  [[nodiscard]] Nanos wall_time() const override;
};

// splitmix64 (Steele, Lea, Flood, OOPSLA 2014): a seed gives the same sequence on every platform.
class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  // Uniform in [0, bound); bound must not be 0.
  std::uint64_t below(std::uint64_t bound);

 private:
  std::uint64_t state_;
};

// 64 bits from the kernel's random source.
std::uint64_t system_seed();

}  // namespace robustrun::base
