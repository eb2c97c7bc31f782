// The real core in the virtual cluster: the cost of faults, and that times add up.

#include "simulator/own_run.h"

#include <doctest/doctest.h>

#include <numeric>

namespace robustrun::simulator::own_run_test {
namespace {

using supervisor::Confidence;
using supervisor::FaultRow;
using supervisor::FirstAction;
using supervisor::Layer;
using supervisor::Step;

constexpr std::uint64_t kSeed = 1;

FaultRow row(const char* name, Layer layer, Confidence confidence, FirstAction action) {
  FaultRow made;
  made.name = made.symptom = name;
  made.layer = layer;
  made.confidence = confidence;
  made.action = action;
  return made;
}

// The shipped policy's ladders, and rows that match the cluster's faults.
OwnPolicy own() {
  OwnPolicy own;
  own.policy.ladders = {
      {FirstAction::kEvict, {{Step::kEvict, 0}, {Step::kCheck, 1}, {Step::kRestart, 0}}},
      {FirstAction::kTolerate, {{Step::kRestart, 2}, {Step::kEvict, 1}, {Step::kRestart, 0}}},
      {FirstAction::kRestart, {{Step::kRestart, 2}, {Step::kEvict, 1}, {Step::kRestart, 0}}},
      {FirstAction::kCheck, {{Step::kCheck, 1}, {Step::kRestart, 1}, {Step::kEvict, 1}}}};
  FaultRow bus = row("off the bus", Layer::kInfrastructure, Confidence::kHigh, FirstAction::kEvict);
  bus.xids = {79};
  FaultRow ecc = row("ECC", Layer::kInfrastructure, Confidence::kHigh, FirstAction::kEvict);
  ecc.texts = {"uncorrectable ECC"};
  FaultRow link = row("link", Layer::kInfrastructure, Confidence::kHigh, FirstAction::kTolerate);
  link.texts = {"Got completion from peer"};
  FaultRow hang = row("hang", Layer::kUnclear, Confidence::kHigh, FirstAction::kRestart);
  hang.found = {"hang"};
  FaultRow slow = row("slow", Layer::kInfrastructure, Confidence::kMedium, FirstAction::kCheck);
  slow.found = {"slow"};
  own.faults = {bus, ecc, link, hang, slow};
  return own;
}

JobTerms job_of(std::uint32_t nodes, std::uint32_t spares) {
  JobTerms job;
  job.nodes = nodes;
  job.spares = spares;
  job.duration = hours(24);
  job.step.value = seconds(6);
  job.start.value = seconds(60);
  job.load.value = seconds(20);
  job.checkpoint_every.value = seconds(6);
  job.residual.value = minutes(15);
  return job;
}

Account account_of(const Timeline& line) { return account_for(line, {seconds(6), {}}); }

Account after(const TracedFault& fault, std::uint32_t spares) {
  return account_of(run_own(own(), job_of(4, spares), {fault}, kSeed));
}

TEST_CASE("without faults all of the time is productive") {
  const Account account = account_of(run_own(own(), job_of(4, 1), {}, kSeed));
  CHECK(account.at(Phase::kProductive) == hours(24));
  CHECK(account.incidents == 0);
}

TEST_CASE("a broken device costs each stage once, and a spare takes the place") {
  const Account account = after({hours(1), 2, FaultKind::kGpu, true, hours(10)}, 1);
  CHECK(account.incidents == 1);
  CHECK(account.at(Phase::kDetect) == milliseconds(480));
  CHECK(account.at(Phase::kReplace) == seconds(1));
  CHECK(account.at(Phase::kWaiting) == Nanos{});
  CHECK(account.at(Phase::kRestart) == seconds(61));
  CHECK(account.at(Phase::kLoad) == seconds(20));
  CHECK(account.at(Phase::kResidual) == minutes(15));
  CHECK(account.at(Phase::kLost) < seconds(6));
}

TEST_CASE("a machine that dies is noticed when its lease has run out") {
  const Account account = after({hours(1), 0, FaultKind::kMachine, true, hours(10)}, 1);
  CHECK(account.at(Phase::kDetect) == seconds(10));
  CHECK(account.at(Phase::kWaiting) == Nanos{});
}

TEST_CASE("only after a lost machine does the script start without standby workers") {
  JobTerms job = job_of(4, 1);
  job.start_cold.emplace().value = seconds(100);
  const auto restarts = [&](FaultKind kind) {
    return account_of(run_own(own(), job, {{hours(1), 0, kind, false, hours(10)}}, kSeed))
        .at(Phase::kRestart);
  };
  CHECK(restarts(FaultKind::kMachine) == seconds(101));
  CHECK(restarts(FaultKind::kSoftware) == seconds(61));
}

TEST_CASE("hanging workers take longer to stop") {
  OwnPolicy slower = own();
  slower.times.stop_hung.value = seconds(31);
  const auto stopping = [&](FaultKind kind) {
    const std::vector<TracedFault> trace = {{hours(1), 1, kind, false, hours(1)}};
    return account_of(run_own(slower, job_of(4, 1), trace, kSeed)).at(Phase::kReplace);
  };
  CHECK(stopping(FaultKind::kHang) == seconds(31));
  CHECK(stopping(FaultKind::kSoftware) == seconds(1));
}

TEST_CASE("without a spare the job waits for the machine to return, or is started anew") {
  const Account account = after({hours(1), 0, FaultKind::kMachine, true, hours(3)}, 0);
  CHECK(account.at(Phase::kWaiting) > hours(3) - minutes(1));
  CHECK(account.at(Phase::kWaiting) < hours(3) + minutes(15));
  CHECK(account.at(Phase::kProductive) > hours(19));
}

TEST_CASE("a hang costs until it is suspected, and until it is certain") {
  const Account account = after({hours(1), 1, FaultKind::kHang, false, hours(1)}, 1);
  CHECK(account.incidents == 1);
  CHECK(account.at(Phase::kDetect) == seconds(5 + 2 * 6));
  CHECK(account.at(Phase::kCulprit) == seconds(11));
}

TEST_CASE("a machine that hangs again is evicted by its third hang, and that is one incident") {
  const Account account = after({hours(1), 1, FaultKind::kHang, true, hours(10)}, 1);
  CHECK(account.incidents == 1);
  CHECK(account.at(Phase::kCulprit) == seconds(3 * 11));
  CHECK(account.at(Phase::kResidual) == minutes(15));
}

TEST_CASE("a slow machine is replaced, and nothing is lost by it") {
  TracedFault fault{hours(1), 1, FaultKind::kSlow, false, hours(10)};
  fault.slows = 2;
  const Account account = after(fault, 1);
  CHECK(account.incidents == 1);
  CHECK(account.at(Phase::kLost) == Nanos{});
  CHECK(account.at(Phase::kDetect) > minutes(1));   // half of the time until it was gone
  CHECK(account.at(Phase::kDetect) < minutes(3));
}

TEST_CASE("a measurement of the core sees every event, and changes nothing") {
  const std::vector<TracedFault> trace = {{hours(1), 2, FaultKind::kMachine, true, hours(10)}};
  std::size_t events = 0, starts = 0;
  const Timeline measured = run_own(
      own(), job_of(4, 1), trace, kSeed, [&](supervisor::Job& job, const supervisor::Event& event) {
        ++events;
        starts += std::holds_alternative<supervisor::WorkerStarted>(event.body) ? 1 : 0;
        return job.handle(event);
      });
  CHECK(events > starts);
  CHECK(starts == 2 * 4);
  CHECK(account_of(measured).by_phase ==
        account_of(run_own(own(), job_of(4, 1), trace, kSeed)).by_phase);
}

TEST_CASE("faults of spares and of machines that are away cost nothing") {
  std::vector<TracedFault> trace = {{hours(1), 4, FaultKind::kGpu, true, hours(2)},
                                    {hours(2), 4, FaultKind::kGpu, true, hours(2)},
                                    {hours(2), 99, FaultKind::kGpu, true, hours(2)}};
  const Account account = account_of(run_own(own(), job_of(4, 1), trace, kSeed));
  CHECK(account.incidents == 0);
  CHECK(account.at(Phase::kProductive) == hours(24));
}

TEST_CASE("an evicted machine comes back when it is repaired") {
  // Both failures would lead to a wait if the first machine were gone for good.
  std::vector<TracedFault> trace = {{hours(1), 0, FaultKind::kGpu, true, hours(2)},
                                    {hours(5), 1, FaultKind::kGpu, true, hours(2)}};
  const Account account = account_of(run_own(own(), job_of(4, 1), trace, kSeed));
  CHECK(account.incidents == 2);
  CHECK(account.at(Phase::kWaiting) == Nanos{});
}

TEST_CASE("the times of any trace add up, and repeat exactly") {
  FailureModel model = *preset("rsc-1");
  model.per_node_day.value = 0.5;
  model.shared.value = 0.3;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    const JobTerms job = job_of(6, static_cast<std::uint32_t>(seed % 4));
    const auto trace = make_trace(model, 9, job.duration, seed);
    const Account one = account_of(run_own(own(), job, trace, seed));
    const Account two = account_of(run_own(own(), job, trace, seed));
    CHECK(one.total == job.duration);
    CHECK(one.by_phase == two.by_phase);
    CHECK(std::accumulate(one.by_phase.begin(), one.by_phase.end(), Nanos{}) == job.duration);
  }
}

}  // namespace
}  // namespace robustrun::simulator::own_run_test
