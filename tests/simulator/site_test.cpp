// Rates and times from several journals together, and the numbers that they replace.

#include "simulator/site.h"

#include <doctest/doctest.h>

namespace robustrun::simulator::site_test {
namespace {

// `faults` of each kind in `node_days`, with stops that take 2, 3 and 4 s.
RunRecord made_record(double node_days, std::initializer_list<std::pair<FaultKind, int>> faults) {
  RunRecord made;
  made.name = "run";
  made.nodes = 4;
  made.node_days = node_days;
  for (const auto& [kind, count] : faults) {
    for (int i = 0; i < count; ++i) {
      SeenFault& fault = made.faults.emplace_back();
      fault.kind = kind;
      fault.in_training = true;
    }
  }
  made.of(Stage::kStop) = {seconds(3), seconds(2), seconds(4)};
  return made;
}

bool mentions(const std::vector<std::string>& doubts, const char* words) {
  for (const std::string& doubt : doubts) {
    if (doubt.find(words) != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("Poisson intervals match the published tables") {
  CHECK(poisson_interval(0).low == 0);
  CHECK(poisson_interval(0).high == doctest::Approx(3.689).epsilon(0.001));
  CHECK(poisson_interval(1).low == doctest::Approx(0.0253).epsilon(0.01));
  CHECK(poisson_interval(1).high == doctest::Approx(5.572).epsilon(0.001));
  CHECK(poisson_interval(10).low == doctest::Approx(4.795).epsilon(0.001));
  CHECK(poisson_interval(10).high == doctest::Approx(18.39).epsilon(0.001));
  CHECK(poisson_interval(100).low == doctest::Approx(81.36).epsilon(0.001));
  CHECK(poisson_interval(100).high == doctest::Approx(121.63).epsilon(0.001));
  // No jump where the approximation begins.
  CHECK(poisson_interval(1001).low - poisson_interval(1000).low == doctest::Approx(1).epsilon(0.1));
  CHECK(poisson_interval(1001).high - poisson_interval(1000).high ==
        doctest::Approx(1).epsilon(0.1));
}

TEST_CASE("rates are failures by node-days, of all journals together") {
  const Site site = site_of({made_record(50, {{FaultKind::kGpu, 20}, {FaultKind::kHang, 5}}),
                             made_record(150, {{FaultKind::kGpu, 5}})});
  CHECK(site.node_days == doctest::Approx(200));
  CHECK(site.all.count == 30);
  CHECK(site.all.per_node_day.mean == doctest::Approx(0.15));
  CHECK(site.all.per_node_day.low == doctest::Approx(20.24 / 200).epsilon(0.001));
  CHECK(site.all.per_node_day.high == doctest::Approx(42.83 / 200).epsilon(0.001));
  CHECK(site.by_kind[index(FaultKind::kGpu)].count == 25);
  FailureModel model = *preset("llama3");
  use_rates(site, model);
  CHECK(model.per_node_day.value == doctest::Approx(0.15));
  CHECK(model.per_node_day.origin == Origin::kMeasured);
  CHECK(model.share(FaultKind::kHang) == doctest::Approx(5.0 / 30));
  CHECK(model.rate(FaultKind::kMachine) == 0);
  CHECK_FALSE(mentions(doubts_of(site), "Too few"));
}

TEST_CASE("too few failures are reported as such, and without any the rate is unchanged") {
  const Site few = site_of({made_record(10, {{FaultKind::kGpu, 3}})});
  CHECK(mentions(doubts_of(few), "Too few failures (3)"));
  const Site none = site_of({made_record(10, {})});
  CHECK(mentions(doubts_of(none), "at most 0.369 per node-day"));
  FailureModel model = *preset("llama3");
  const double before = model.per_node_day.value;
  use_rates(none, model);
  CHECK(model.per_node_day.value == before);
  CHECK(model.per_node_day.origin == Origin::kPublished);
}

TEST_CASE("failures on purpose do not count") {
  RunRecord record = made_record(10, {{FaultKind::kPassing, 12}});
  for (std::size_t i = 0; i < 5; ++i) record.faults[i].on_purpose = true;
  const Site site = site_of({record});
  CHECK(site.all.count == 7);
  CHECK(site.on_purpose == 5);
  CHECK(mentions(doubts_of(site), "5 failures were injected"));
}

TEST_CASE("measured times replace assumed ones, but not those that the user gave") {
  RunRecord record = made_record(10, {});
  record.of(Stage::kScript) = {seconds(20), seconds(30), seconds(40)};
  record.of(Stage::kHangSuspected) = {seconds(8)};
  record.paces = {{1000, milliseconds(500)}, {10, seconds(9)}};
  record.checkpoint_steps = {100, 100, 7};
  record.checkpoint_stall = seconds(2);
  const Site site = site_of({record});
  JobTerms job;
  job.load = {seconds(30), Origin::kAssumed, ""};
  job.residual = {minutes(15), Origin::kAssumed, ""};
  OwnTimes own;
  use_times(site, job, own);
  CHECK(own.stop.value == seconds(3));
  CHECK(own.stop.origin == Origin::kMeasured);
  CHECK(own.stop_hung.value == seconds(3));
  CHECK(job.start.value == seconds(30) - milliseconds(500));  // until the first step begins
  CHECK(job.load.value == Nanos{});
  CHECK(job.residual.value == Nanos{});
  CHECK(job.step.value == milliseconds(500));
  CHECK(job.checkpoint_every.value == seconds(48));  // 100 steps, their stall not counted
  CHECK(job.checkpoint_stall.value == seconds(2));
  CHECK(own.hang_suspected.value == seconds(8));
  CHECK(own.hang_steps.value == 0);
  CHECK(own.check.origin == Origin::kAssumed);  // no check was seen
  CHECK(own.machine_death.origin == Origin::kAssumed);

  JobTerms given;
  given.step = {seconds(6), Origin::kGiven, "--step-time"};
  given.start = {seconds(1), Origin::kGiven, "--start"};
  given.load = {seconds(5), Origin::kGiven, "--checkpoint-load"};
  OwnTimes others;
  use_times(site, given, others);
  CHECK(given.step.value == seconds(6));
  CHECK(given.start.value == seconds(1));
  CHECK(given.load.value == seconds(5));
  CHECK(others.hang_steps.value == 2);  // the times do not include steps of another length
}

TEST_CASE("without notes the checkpoint interval is estimated from repeated steps") {
  RunRecord record = made_record(10, {});
  record.paces = {{1000, milliseconds(100)}};
  record.steps_again = {0, 20, 10, 10};
  const Site site = site_of({record});
  CHECK(site.every_is_guessed);
  CHECK(site.checkpoint_every.median == seconds(2));
  CHECK(site.checkpoint_every.samples == 4);
}

TEST_CASE("if most restarts use standby workers, their start time is used") {
  RunRecord record = made_record(10, {});
  record.of(Stage::kScript) = {seconds(20)};
  record.of(Stage::kScriptWarm) = {seconds(4), seconds(5), seconds(6)};
  JobTerms job;
  OwnTimes own;
  use_times(site_of({record}), job, own);
  CHECK(job.start.value == seconds(5));
  REQUIRE(job.start_cold.has_value());
  CHECK(job.start_cold->value == seconds(20));
}

}  // namespace
}  // namespace robustrun::simulator::site_test
