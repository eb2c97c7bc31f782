#include <doctest/doctest.h>

#include <cerrno>

#include "base/core/clock.h"
#include "base/core/hash.h"
#include "base/core/result.h"

namespace core_test {

using namespace robustrun::base;

namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return fail(Errc::kInvalidArgument, "odd");
  return value / 2;
}

Result<int> quarter(int value) {
  const int once = RR_TRY(half(value));
  return RR_TRY(half(once));
}

Status check_even(int value) {
  RR_TRY(half(value));
  return {};
}

}  // namespace

TEST_CASE("RR_TRY unwraps values and passes errors on") {
  CHECK(quarter(12).value() == 3);
  CHECK(quarter(6).error().what == "odd");
  CHECK(check_even(4));
  CHECK(check_even(5).error().code == Errc::kInvalidArgument);
}

TEST_CASE("an error of a system call names its cause") {
  const Status failed = fail_errno("cannot read x", ENOENT);
  CHECK(failed.error().what == "cannot read x: No such file or directory");
  CHECK(failed.error().os_errno == ENOENT);
  CHECK(failed.error().code == Errc::kOs);
}

TEST_CASE("one seed gives one sequence on every platform") {
  Rng rng(42);
  CHECK(rng.next() == 0xbdd732262feb6e95ULL);  // splitmix64's published sequence
  Rng same(42);
  Rng other(43);
  CHECK(same.next() != other.next());
}

TEST_CASE("below stays below its bound and reaches every value") {
  Rng rng(7);
  bool seen[5] = {};
  for (int i = 0; i < 1000; ++i) seen[rng.below(5)] = true;
  for (const bool value : seen) CHECK(value);
  CHECK(rng.below(1) == 0);
}

TEST_CASE("the monotonic clock never goes back") {
  const SystemClock clock;
  const Nanos first = clock.now();
  CHECK(clock.now() >= first);
  CHECK(clock.wall_time() > std::chrono::hours(24 * 365 * 50));
}

TEST_CASE("hash64 is XXH3 and depends on its seed") {
  CHECK(hash64("") == 0x2d06800538d394c2ULL);  // xxHash's own test vector
  CHECK(hash64("a") != hash64("a", 1));
}

}  // namespace core_test
