// The closed forms give the published values (ETTR of arXiv 2410.21680, standbys of ByteRobust),
// and the simulation agrees with them where they are valid.

#include "simulator/closed_form.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "simulator/own_run.h"
#include "simulator/published_policy.h"
#include "simulator/published_run.h"
#include "simulator/statistics.h"

namespace robustrun::simulator::closed_form_test {
namespace {

TEST_CASE("ETTR matches the paper's rows within 5 percent") {
  struct Row {
    std::uint32_t gpus;
    double rate;
    Nanos interval, restart;
    double published, by_formula;
  };
  constexpr double kRsc1 = 6.50e-3, kRsc2 = 2.34e-3;
  const Row rows[] = {
      {16'000, kRsc1, minutes(60), minutes(5), 0.7, 0.684},
      {16'000, kRsc1, minutes(5), minutes(5), 0.93, 0.932},
      {8'000, kRsc1, minutes(30), minutes(5), 0.9, 0.910},
      {100'000, kRsc2, minutes(2), minutes(2), 0.9, 0.939},
      {100'000, kRsc1, minutes(7), minutes(5), 0.5, 0.520},
  };
  for (const Row& row : rows) {
    const double ettr = closed_ettr({row.gpus / 8, row.rate, row.restart, row.interval, {}});
    CAPTURE(row.gpus);
    CHECK(std::abs(ettr - row.published) <= 0.05 * row.published);
    CHECK(std::abs(ettr - row.by_formula) <= 0.001);
  }
}

TEST_CASE("standbys are ByteRobust's 2, 2, 3, 4") {
  constexpr double kDaily = 0.0012;
  CHECK(standbys(128, kDaily) == 2);
  CHECK(standbys(256, kDaily) == 2);
  CHECK(standbys(512, kDaily) == 3);
  CHECK(standbys(1024, kDaily) == 4);
  CHECK(standbys(1200, kDaily) == 5);
  CHECK(standbys(2048, kDaily) == 7);
  CHECK(standbys(1024, 0) == 0);
  CHECK(standbys(8, 1) == 8);
  CHECK(standbys(25'000, 0.01) > 250);
}

TEST_CASE("the best interval is Young and Daly's") {
  CHECK(young_daly(seconds(10), seconds(7200)) == from_seconds(std::sqrt(2.0 * 10 * 7200)));
  CHECK(time_between_failures(0, 1) == Nanos::max());
  CHECK(std::abs(in_seconds(time_between_failures(2000, 6.5e-3)) - 86400.0 / 13) < 1e-3);
}

// A policy with one pause per fault that replaces machines at once.
PublishedPolicy simple_policy(Nanos pause) {
  PublishedPolicy policy;
  for (auto& time : policy.replace) time.value = pause;
  policy.adds_start = false;
  policy.replaces_slow = true;
  policy.evicted_for_hang.value = 1;
  return policy;
}

// The formula is of first order: it holds for rare failures, which seldom follow each other
// closely.
TEST_CASE("Monte Carlo agrees with the closed form") {
  FailureModel model = *preset("rsc-1");
  model.mix.value = {0, 0, 0, 0, 1, 0, 0};  // no machine has to be replaced
  JobTerms job;
  job.nodes = 32;
  job.duration = hours(24 * 600);
  job.step.value = seconds(1);
  const Nanos pause = minutes(5), every = minutes(20), stall = seconds(5);
  std::vector<double> ettr;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const auto trace = make_trace(model, job.nodes, job.duration, seed);
    const Timeline line = run_published(simple_policy(pause), job, trace);
    ettr.push_back(account_for(line, {every, stall}).ettr());
  }
  const Interval found = interval_of(ettr);
  const double expected = closed_ettr({job.nodes, 6.50e-3, pause, every, stall});
  CAPTURE(found.low);
  CAPTURE(found.high);
  CAPTURE(expected);
  CHECK(found.low <= expected);
  CHECK(expected <= found.high);
  CHECK(found.high - found.low < 0.0005);  // otherwise the check is weak
}

// robustrun with pauses as long as in the paper, where every failure ends a worker and no machine
// has to be replaced.
OwnPolicy own_policy() {
  OwnPolicy own;
  own.restart.max_restarts = UINT32_MAX;
  own.restart.crash_loop_stop = false;
  own.restart.backoff_first = {};
  return own;
}

// Both simulations on the paper's rows. The formula is of first order: where a third of the time is
// lost it is 5 % below the cost of Poisson failures, so the paper's own rounded number is used
// there; its row of 100,000 GPUs at RSC-1's rate (0.5) is beyond that, too.
TEST_CASE("both simulated policies agree with the paper's rows within 5 percent") {
  struct Row {
    std::uint32_t gpus;
    double rate;
    Nanos interval, restart, duration;
    double expected;
    bool is_ours = true;  // false where the core would start 12,500 workers some 150 times
  };
  constexpr double kRsc1 = 6.50e-3, kRsc2 = 2.34e-3;
  const Row rows[] = {
      {16'000, kRsc1, minutes(60), minutes(5), hours(24 * 20), 0.7},
      {16'000, kRsc1, minutes(5), minutes(5), hours(24 * 10), 0.93},
      {8'000, kRsc1, minutes(30), minutes(5), hours(24 * 20), 0.9},
      {100'000, kRsc2, minutes(2), minutes(2), hours(24 * 20), 0.939, false},
  };
  FailureModel model = *preset("rsc-1");
  model.mix.value = {0, 0, 0, 0, 1, 0, 0};
  for (const Row& row : rows) {
    JobTerms job;
    job.nodes = row.gpus / 8;
    job.duration = row.duration;
    job.step.value = seconds(1);
    model.per_node_day.value = row.rate;
    const CheckpointPlan plan{row.interval, {}};
    Account published, ours;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const auto trace = make_trace(model, job.nodes, job.duration, seed);
      job.start.value = {};
      published.add(account_for(run_published(simple_policy(row.restart), job, trace), plan));
      const OwnTimes times;
      job.start.value =
          row.restart - times.worker_death.value - times.stop.value - times.start.value;
      if (row.is_ours) ours.add(account_for(run_own(own_policy(), job, trace, seed), plan));
    }
    CAPTURE(row.gpus);
    CAPTURE(row.expected);
    CAPTURE(published.ettr());
    CHECK(std::abs(published.ettr() - row.expected) <= 0.05 * row.expected);
    if (!row.is_ours) continue;
    CAPTURE(ours.ettr());
    CHECK(std::abs(ours.ettr() - row.expected) <= 0.05 * row.expected);
    CHECK(ours.incidents > 100);
  }
}

}  // namespace
}  // namespace robustrun::simulator::closed_form_test
