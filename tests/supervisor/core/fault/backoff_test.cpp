#include "supervisor/core/fault/backoff.h"

#include <doctest/doctest.h>

#include "base/core/rng.h"

namespace robustrun::supervisor::backoff_test {
namespace {

using std::chrono::seconds;

RestartPolicy waits(base::Nanos first, base::Nanos max) {
  RestartPolicy policy;
  policy.backoff_first = first;
  policy.backoff_max = max;
  return policy;
}

TEST_CASE("the first restart since progress does not wait, later waits double up to a cap") {
  const RestartPolicy policy = waits(seconds(1), seconds(6));
  Backoff backoff;
  CHECK(backoff.delay(policy, 0) == base::Nanos{});
  const seconds full[] = {seconds(1), seconds(2), seconds(4), seconds(6), seconds(6)};
  base::Rng rng(7);
  for (const seconds expected : full) {
    backoff.note_restart();
    const auto half = static_cast<std::uint64_t>(base::Nanos(expected).count()) / 2;
    CHECK(backoff.delay(policy, 0) == base::Nanos(expected) / 2);
    CHECK(backoff.delay(policy, half) == expected);
    for (int i = 0; i < 100; ++i) {
      const base::Nanos delay = backoff.delay(policy, rng.next());
      CHECK(delay >= base::Nanos(expected) / 2);
      CHECK(delay <= expected);
    }
  }
  backoff.note_progress();
  CHECK(backoff.delay(policy, 0) == base::Nanos{});
}

TEST_CASE("extreme policies overflow nothing") {
  Backoff backoff;
  for (int i = 0; i < 100; ++i) backoff.note_restart();
  CHECK(backoff.delay(waits(base::Nanos::max(), base::Nanos::max()), UINT64_MAX) > base::Nanos{});
  CHECK(backoff.delay(waits({}, base::Nanos::max()), 1) == base::Nanos{});
}

TEST_CASE("a wait is doubled as often as asked, within its cap") {
  CHECK(doubled(seconds(10), 0, seconds(300)) == seconds(10));
  CHECK(doubled(seconds(10), 3, seconds(300)) == seconds(80));
  CHECK(doubled(seconds(10), 5, seconds(300)) == seconds(300));
  CHECK(doubled(seconds(400), 0, seconds(300)) == seconds(300));
}

}  // namespace
}  // namespace robustrun::supervisor::backoff_test
