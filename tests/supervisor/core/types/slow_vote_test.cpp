// Which machine is named most often, what it costs the job, and what a restart costs.
#include "supervisor/core/types/slow_vote.h"

#include <doctest/doctest.h>

#include "supervisor/core/types/limits.h"
#include "tests/supervisor/job_words.h"

namespace robustrun::supervisor::test::slow_vote_test {
namespace {

using namespace std::chrono_literals;
using Nodes = std::vector<base::NodeId>;

SlowVote votes(const std::vector<Nodes>& rounds) {
  SlowVote vote;
  for (const Nodes& named : rounds) vote.count(named);
  return vote;
}

TEST_CASE("only more than half of the rounds makes a majority") {
  CHECK(votes({{{2}}, {{2}}, {{1}}, {}, {{2}}}).majority(5) == Nodes{{2}});
  CHECK(votes({{{2}}, {{2}}, {{1}}, {}, {{1}}}).majority(5).empty());
  CHECK(votes({{{2}}, {{2}}, {{1}}, {{1}}}).majority(4).empty());
  CHECK(votes({{{0}}}).majority(1) == Nodes{{0}});
  CHECK(votes({}).majority(5).empty());
}

TEST_CASE("a group that is named together goes together, in the order of its nodes") {
  const SlowVote vote = votes({{{3}, {1}}, {{1}, {3}}, {{3}}, {{1}, {3}, {4}}, {}});
  CHECK(vote.majority(5) == Nodes{{1}, {3}});
  CHECK(vote.rounds_of({3}) == 4);
  CHECK(vote.rounds_of({1}) == 3);
  CHECK(vote.rounds_of({4}) == 1);
  CHECK(vote.rounds_of({0}) == 0);
}

TEST_CASE("the gain is the share of the remaining time that the slowness costs") {
  // Steps of 0.5 s that took 0.2 s: of ten hours, six are lost.
  const SlowBalance half = weigh(200ms, 500ms, 10h, 5min);
  CHECK(half.lost == doctest::Approx(0.6));
  CHECK(std::chrono::duration<double>(half.gain).count() == doctest::Approx(6 * 3600));
  CHECK(half.is_worth_it());
  // A tenth of the last hour is 6 minutes.
  CHECK(weigh(900ms, 1s, 1h, 5min).is_worth_it());
  CHECK_FALSE(weigh(900ms, 1s, 1h, 7min).is_worth_it());
  CHECK_FALSE(weigh(1s, 1s, 1h, 0s).is_worth_it());
  CHECK(weigh(1s, 500ms, 1h, 0s).gain == 0s);
  CHECK(weigh(1ns, base::Nanos::max(), base::Nanos::max(), 1s).is_worth_it());
}

TEST_CASE("the end of the job is the earliest one that is known, else it is assumed") {
  JobSpec spec;
  CHECK(remaining_time(spec, 1h, {}, 0s, 1s).time == 24h);
  CHECK(std::string(remaining_time(spec, 1h, 7, 0s, 1s).because) == "assumed");
  spec.time_limit = 3h;
  CHECK(remaining_time(spec, 1h, {}, 0s, 1s).time == 2h);
  CHECK(std::string(remaining_time(spec, 1h, {}, 0s, 1s).because) == "--time-limit");
  CHECK(remaining_time(spec, 4h, {}, 0s, 1s).time == 0s);
  spec.stop_after_steps = 1000;
  // 400 steps of 2 s from a minute ago.
  const Remaining steps = remaining_time(spec, 1h, 600, 60s, 2s);
  CHECK(steps.time == 800s - 60s);
  CHECK(std::string(steps.because) == "--stop-after-steps");
  CHECK(remaining_time(spec, 1h, 2000, 0s, 2s).time == 0s);
  CHECK(remaining_time(spec, 1h, {}, 0s, 2s).time == 2h);  // how many are done is not known
}

TEST_CASE("a restart costs until the first step, and until all is done again where that is known") {
  RestartPrices prices;
  CHECK_FALSE(prices.median());
  prices.note_first_step(1000s, 1000s);  // of the start: nothing had failed
  CHECK_FALSE(prices.median());
  prices.note_failure(2000s);
  prices.note_first_step(2030s, 2031s);
  CHECK(*prices.median() == 30s);
  prices.note_caught_up(2050s, 2051s);
  CHECK(*prices.median() == 50s);
  prices.note_caught_up(2090s, 2091s);  // once
  CHECK(*prices.median() == 50s);
  // Two failures with no step between them are one price.
  prices.note_failure(3000s);
  prices.note_failure(3100s);
  prices.note_first_step(3110s, 3111s);
  CHECK(prices.prices == std::vector<base::Nanos>{50s, 110s});
  prices.note_failure(4000s);
  prices.note_first_step(4020s, 4021s);
  CHECK(*prices.median() == 50s);
}

TEST_CASE("times that cannot be are cut, and old prices forgotten") {
  RestartPrices prices;
  prices.note_failure(100s);
  prices.note_first_step(base::Nanos::max(), 110s);
  CHECK(*prices.median() == 10s);
  prices.note_failure(200s);
  prices.note_first_step(base::Nanos::min(), 210s);
  CHECK(prices.prices.back() == 0s);
  for (int i = 0; i < 100; ++i) {
    const base::Nanos at = 1000s + i * 100s;
    prices.note_failure(at);
    prices.note_first_step(at + 7s, at + 8s);
  }
  CHECK(prices.prices.size() == kRestartPricesKept);
  CHECK(*prices.median() == 7s);
}

}  // namespace
}  // namespace robustrun::supervisor::test::slow_vote_test
