// Every nanosecond of a job is in exactly one phase, whatever happened.

#include "simulator/account.h"

#include <doctest/doctest.h>

#include <numeric>

#include "base/core/clock.h"
#include "simulator/stopwatch.h"

namespace robustrun::simulator::account_test {
namespace {

constexpr CheckpointPlan kPlan{minutes(10), seconds(10)};

Timeline one_episode(Nanos length, bool is_lost, Nanos slowed = {}) {
  Timeline line;
  line.episodes = {{length, slowed, is_lost}};
  line.total = length;
  line.incidents = is_lost ? 1 : 0;
  return line;
}

TEST_CASE("training since the last checkpoint is lost with a fault, and kept without") {
  // Two whole cycles of 610 s, and 5 minutes.
  const Nanos length = seconds(2 * 610 + 300);
  const Account lost = account_for(one_episode(length, true), kPlan);
  CHECK(lost.at(Phase::kProductive) == minutes(20));
  CHECK(lost.at(Phase::kCheckpoint) == seconds(20));
  CHECK(lost.at(Phase::kLost) == minutes(5));
  CHECK(lost.lost_per_incident() == minutes(5));
  const Account kept = account_for(one_episode(length, false), kPlan);
  CHECK(kept.at(Phase::kProductive) == minutes(25));
  CHECK(kept.at(Phase::kLost) == Nanos{});
  CHECK(kept.lost_per_incident() == Nanos{});
}

TEST_CASE("a checkpoint that a fault interrupts saves nothing") {
  const Account account = account_for(one_episode(seconds(600 + 9), true), kPlan);
  CHECK(account.at(Phase::kProductive) == Nanos{});
  CHECK(account.at(Phase::kCheckpoint) == seconds(9));
  CHECK(account.at(Phase::kLost) == minutes(10));
}

TEST_CASE("slow steps that were kept count less than their time") {
  const Account account = account_for(one_episode(seconds(610), false, minutes(2)), kPlan);
  CHECK(account.at(Phase::kProductive) == minutes(8));
  CHECK(account.at(Phase::kDetect) == minutes(2));
  CHECK(account.ettr() == doctest::Approx(480.0 / 610));
}

TEST_CASE("the account of any timeline adds up") {
  constexpr std::uint64_t kSeed = 11;
  base::Rng rng(kSeed);
  for (int round = 0; round < 200; ++round) {
    Stopwatch watch;
    Nanos now{static_cast<Nanos::rep>(rng.below(1'000'000'000))};
    const Nanos begin = now;
    watch.begin(now);
    for (std::uint64_t steps = 1 + rng.below(20); steps > 0; --steps) {
      now += Nanos(static_cast<Nanos::rep>(rng.below(3'000'000'000'000)));
      switch (rng.below(4)) {
        case 0: watch.train(now); break;
        case 1: watch.slow(now, 1 + static_cast<double>(rng.below(30)) / 10); break;
        default: watch.pause(now, static_cast<Phase>(3 + rng.below(7)), rng.below(2) == 0);
      }
    }
    const Timeline line = watch.end(now);
    const CheckpointPlan plan{Nanos(1 + static_cast<Nanos::rep>(rng.below(2'000'000'000'000))),
                              Nanos(static_cast<Nanos::rep>(rng.below(20'000'000'000)))};
    const Account account = account_for(line, plan);
    CAPTURE(round);
    CHECK(std::accumulate(account.by_phase.begin(), account.by_phase.end(), Nanos{}) ==
          now - begin);
    CHECK(account.total == now - begin);
  }
}

}  // namespace
}  // namespace robustrun::simulator::account_test
