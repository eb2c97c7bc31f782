// What the static libstdc++ wants from a newer glibc than hosts may have: the binary is pushed to
// them, and must run with 2.34 (tests/e2e/test_pushable.py looks at its symbols).
#include <sys/random.h>

#include <cstdint>

#include "base/core/result.h"

// glibc has it from 2.36 on. std::random_device's last resort.
extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  // Never short for so few bytes, and never interrupted (getrandom(2)).
  RR_ASSERT(::getrandom(&value, sizeof value, 0) == sizeof value);
  return value;
}
