#include "cli/runs/end_elsewhere.h"

#include <doctest/doctest.h>

#include "cli/options/limits.h"

namespace robustrun::cli::end_elsewhere_test {
namespace {

class PausedClock final : public base::Clock {
 public:
  [[nodiscard]] base::Nanos now() const override { return time; }
  [[nodiscard]] base::Nanos wall_time() const override { return time; }
  base::Nanos time{};
};

// The journal gets its end at `end`; the supervisor answers until `death`.
struct Run {
  base::Nanos end = base::Nanos::max();
  base::Nanos death = base::Nanos::max();
  PausedClock clock{};
  int questions = 0;

  base::Status wait() {
    return wait_for_end_elsewhere({[this] { return clock.time >= end; },
                                   [this]() -> base::Status {
                                     ++questions;
                                     if (clock.time < death) return {};
                                     return base::fail(base::Errc::kUnavailable,
                                                       "node1:29400: connection refused");
                                   },
                                   [this](std::chrono::milliseconds time) {
                                     REQUIRE(clock.time < std::chrono::hours(2));
                                     clock.time += time;
                                   }},
                                  clock);
  }
};

}  // namespace

TEST_CASE("a supervisor that answers is waited for, however long its run takes to end") {
  Run run{.end = std::chrono::hours(1)};
  CHECK(run.wait());
  CHECK(run.questions > 0);
  CHECK(run.questions <= std::chrono::hours(1) / kElsewhereAskInterval);
}

TEST_CASE("a supervisor that dies while it ends its run is not waited for for ever") {
  Run run{.death = std::chrono::minutes(1)};
  const auto ended = run.wait();
  REQUIRE_FALSE(ended);
  CHECK(ended.error().what.find("connection refused") != std::string::npos);
  CHECK(run.clock.time >= std::chrono::minutes(1));
  CHECK(run.clock.time <= std::chrono::minutes(1) + kElsewhereSilentMax + kElsewhereAskInterval);
}

TEST_CASE("a supervisor that answers no more because its run has ended is no error") {
  Run run{.end = std::chrono::seconds(70), .death = std::chrono::seconds(60)};
  CHECK(run.wait());
}

}  // namespace robustrun::cli::end_elsewhere_test
