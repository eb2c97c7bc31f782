// Other policies over a trace: each stage costs its published time.

#include <doctest/doctest.h>

#include <numeric>

#include "simulator/published_policy.h"
#include "simulator/published_run.h"

namespace robustrun::simulator::published_run_test {
namespace {

JobTerms job_of(std::uint32_t spares) {
  JobTerms job;
  job.nodes = 4;
  job.spares = spares;
  job.duration = hours(24);
  job.step.value = seconds(6);
  job.start.value = seconds(60);
  job.load.value = seconds(20);
  job.residual.value = minutes(15);
  job.checkpoint_stall.value = seconds(5);
  return job;
}

Account run(const char* name, const std::vector<TracedFault>& trace, std::uint32_t spares = 1) {
  const PublishedPolicy& policy = *published_policy(name);
  const JobTerms job = job_of(spares);
  return account_for(run_published(policy, job, trace), checkpoints_of(policy, job));
}

TEST_CASE("a broken device costs the published stages") {
  const std::vector<TracedFault> trace = {{hours(1), 1, FaultKind::kGpu, true, hours(5)}};
  const Account theirs = run("byterobust", trace);
  CHECK(theirs.incidents == 1);
  CHECK(theirs.at(Phase::kDetect) == seconds(10));
  CHECK(theirs.at(Phase::kReplace) == seconds(93));
  CHECK(theirs.at(Phase::kRestart) == seconds(60));
  CHECK(theirs.at(Phase::kLoad) == seconds(20));
  CHECK(theirs.at(Phase::kResidual) == minutes(15));
  const Account all_in = run("byterobust-all-in", trace);
  CHECK(all_in.at(Phase::kRestart) == Nanos{});
  const Account torchrun = run("torchrun", trace);
  CHECK(torchrun.at(Phase::kDetect) == seconds(60));
  CHECK(torchrun.at(Phase::kReplace) == seconds(768));
  CHECK(torchrun.at(Phase::kLost) > minutes(25));  // since the last one of 30 minutes
}

TEST_CASE("a hang is noticed when its time-out is over") {
  const std::vector<TracedFault> trace = {{hours(1), 1, FaultKind::kHang, false, hours(5)}};
  CHECK(run("torchrun", trace).at(Phase::kDetect) == minutes(10));
  CHECK(run("torchrun-slow", trace).at(Phase::kDetect) == minutes(30));
  CHECK(run("byterobust", trace).at(Phase::kDetect) == minutes(10));
  const std::vector<TracedFault> again = {{hours(1), 1, FaultKind::kHang, true, hours(5)}};
  CHECK(run("torchrun", again).at(Phase::kDetect) == minutes(20));
  CHECK(run("torchrun", again).at(Phase::kCulprit) == minutes(90));
}

TEST_CASE("without a spare the job waits for the repair, also if another fault strikes meanwhile") {
  const std::vector<TracedFault> trace = {{hours(1), 1, FaultKind::kGpu, true, hours(3)},
                                          {hours(2), 2, FaultKind::kGpu, true, hours(1)}};
  const Account account = run("byterobust", trace, 0);
  CHECK(account.at(Phase::kWaiting) > hours(2) + minutes(55));
  CHECK(account.at(Phase::kWaiting) <= hours(3));
}

TEST_CASE("a slow machine is replaced by one policy and endured by another") {
  TracedFault fault{hours(1), 1, FaultKind::kSlow, false, hours(2)};
  fault.slows = 2;
  CHECK(run("torchrun", {fault}).incidents == 0);
  CHECK(run("torchrun", {fault}).at(Phase::kDetect) > minutes(50));
  CHECK(run("byterobust", {fault}).incidents == 1);
  CHECK(run("byterobust", {fault}).at(Phase::kDetect) < minutes(2));
}

TEST_CASE("the times of any trace add up under every policy") {
  FailureModel model = *preset("byterobust-moe");
  model.per_node_day.value = 0.7;
  model.shared.value = 0.3;
  for (const PublishedPolicy& policy : published_policies()) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      CAPTURE(policy.name);
      CAPTURE(seed);
      const auto trace = make_trace(model, 7, hours(24), seed);
      const Account account = run(policy.name.c_str(), trace, static_cast<std::uint32_t>(seed % 4));
      CHECK(std::accumulate(account.by_phase.begin(), account.by_phase.end(), Nanos{}) ==
            hours(24));
    }
  }
}

}  // namespace
}  // namespace robustrun::simulator::published_run_test
