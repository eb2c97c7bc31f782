// Functions that the static libstdc++ expects from a newer glibc than hosts may have. The pushed
// binary must run with glibc 2.34 (tests/e2e/test_pushable.py checks its symbols).
#include <sys/random.h>

#include <cstdint>

#include "base/core/result.h"

// In glibc since 2.36. The last resort of std::random_device.
extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  // getrandom(2) neither returns less nor is interrupted for so few bytes.
  RR_ASSERT(::getrandom(&value, sizeof value, 0) == sizeof value);
  return value;
}
