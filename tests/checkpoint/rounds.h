#pragma once
// How many rounds a random test runs: a few in CI, as many as ROBUSTRUN_TEST_ROUNDS says at night.
// ROBUSTRUN_TEST_SEED repeats a run.

#include <cstdint>
#include <cstdlib>

#include "base/core/clock.h"

namespace robustrun::test {

inline std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}
inline std::uint64_t rounds(std::uint64_t in_ci) {
  return number_from("ROBUSTRUN_TEST_ROUNDS", in_ci);
}
inline std::uint64_t test_seed() { return number_from("ROBUSTRUN_TEST_SEED", base::system_seed()); }

}  // namespace robustrun::test
