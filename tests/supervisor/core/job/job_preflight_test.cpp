// The check before the first attempt, as the core lives through it.
#include <doctest/doctest.h>

#include <csignal>

#include "supervisor/core/types/exit_code.h"
#include "supervisor/core/types/limits.h"
#include "tests/supervisor/job_harness.h"
#include "tests/supervisor/preflight_facts.h"

namespace robustrun::supervisor::test::job_preflight_test {
namespace {

JobSpec checked_spec(std::vector<std::uint32_t> slots, std::uint32_t max_nodes = 0,
                     std::uint32_t min_nodes = 0) {
  JobSpec spec = make_spec(std::move(slots));
  spec.preflight = PreflightDepth::kFast;
  spec.group.max_nodes = max_nodes;
  spec.group.min_nodes = min_nodes;
  return spec;
}

// What the newest CheckNodes asked for, all healthy.
NodesChecked answer_to(const Harness& h) {
  const auto orders = h.all<CheckNodes>();
  REQUIRE(orders.size() == 1);
  NodesChecked answer;
  answer.check = orders[0].check;
  answer.full = orders[0].full;
  for (const base::NodeId node : orders[0].nodes) {
    answer.nodes.push_back(healthy(node.value, h.generation[node.value]));
  }
  return answer;
}

void fill_disk(NodesChecked& answer, std::uint32_t node) {
  for (NodeCheck& check : answer.nodes) {
    if (check.node.value == node) check.facts.disk.free = 0;
  }
}

TEST_CASE("nothing starts before the nodes are checked, and then at once") {
  Harness h(checked_spec({1, 1}));
  h.join_all();
  CHECK(h.job.state() == JobState::kChecking);
  CHECK(h.all<ReservePort>().empty());
  h.tell(answer_to(h));
  CHECK(h.text(Rule::kPreflight).find("2 nodes checked in") != std::string::npos);
  CHECK(h.text(Rule::kPreflight).ends_with("all are fit"));
  CHECK(h.job.state() == JobState::kReserving);
  h.begin();
  h.lose(1);  // a restart is not checked again
  h.all_gone_but(1);
  h.join(1);
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("off means off") {
  JobSpec spec = make_spec({1, 1});
  Harness h(spec);
  h.join_all();
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("a spare takes the place of an unfit node, with the reason") {
  Harness h(checked_spec({1, 1, 1}, 2));
  h.join(2);
  h.join(0);
  h.join(1);
  NodesChecked answer = answer_to(h);
  fill_disk(answer, 1);
  h.tell(answer);
  CHECK(h.text(Rule::kNodeUnfit) ==
        "pre-flight: node1 left out: only 0 MiB are free in /job, where log files go");
  CHECK(h.group == std::vector<std::uint32_t>{0, 2});
  CHECK(h.all<GroupFormed>()[0].spares.empty());
  CHECK(h.job.state() == JobState::kReserving);
  h.begin();
  // It is not taken again, whatever is lost.
  h.lose_machine(0);
  CHECK(h.all<LaunchAgent>().empty());
  CHECK(h.job.state() != JobState::kReserving);
}

TEST_CASE("without a spare the run gives up with the cause, and 94") {
  Harness h(checked_spec({1, 1}));
  h.join_all();
  NodesChecked answer = answer_to(h);
  answer.nodes[0].unreached = {timeout_to(1)};
  h.tell(answer);
  CHECK(h.exit_code() == kExitInfrastructure);
  CHECK(h.text(Rule::kInfrastructureGivenUp) ==
        "only 1 of the 2 nodes needed: node1: node0 cannot reach node1: timeout "
        "after 3 s; the other direction works");
}

TEST_CASE("where only the script is missing other nodes are of no use: 127") {
  const auto code = [](bool script_on_0, bool script_on_1, bool disk_on_0) {
    Harness h(checked_spec({1, 1}));
    h.join_all();
    NodesChecked answer = answer_to(h);
    if (!script_on_0) answer.nodes[0].facts.missing = "t.py is not on this machine";
    if (!script_on_1) answer.nodes[1].facts.missing = "t.py is not on this machine";
    if (!disk_on_0) fill_disk(answer, 0);
    h.tell(answer);
    return h.exit_code();
  };
  CHECK(code(true, false, true) == kExitNotFound);
  CHECK(code(false, false, true) == kExitNotFound);
  CHECK(code(true, false, false) == kExitInfrastructure);
  CHECK(code(true, true, false) == kExitInfrastructure);
}

TEST_CASE("a group that may be smaller goes on with the fit nodes") {
  Harness h(checked_spec({1, 1, 1}, 3, 2));
  h.join_all();
  NodesChecked answer = answer_to(h);
  fill_disk(answer, 0);
  h.tell(answer);
  CHECK(h.group == std::vector<std::uint32_t>{1, 2});
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("warnings are said once for all nodes that have them, and stop nothing") {
  Harness h(checked_spec({1, 1, 1, 1, 1}));
  h.join_all();
  NodesChecked answer = answer_to(h);
  for (NodeCheck& node : answer.nodes) node.facts.limits.open_files = 64;
  answer.nodes[3].clock_ahead = std::chrono::hours(-1);
  h.tell(answer);
  const auto decisions = h.all<Decision>();
  CHECK(std::ranges::count(decisions, Rule::kPreflightWarning, &Decision::rule) == 2);
  CHECK(
      h.text(Rule::kPreflightWarning).starts_with("pre-flight: node0, node1, node2 and 2 more: "));
  CHECK(h.evidence(Rule::kPreflightWarning).size() == 5);
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("of two slow nodes the slower one is replaced") {
  JobSpec spec = checked_spec({1, 1, 1, 1, 1}, 4);
  spec.preflight = PreflightDepth::kFull;
  Harness h(spec);
  for (std::uint32_t node = 5; node-- > 0;) h.join(node);
  NodesChecked answer = answer_to(h);
  for (NodeCheck& node : answer.nodes) node.speeds = {{0, milliseconds(10), 1e9}};
  answer.nodes[1].speeds = {{0, milliseconds(50), 1e9}, {1, milliseconds(50), 1e9}};
  answer.nodes[2].speeds = {{0, milliseconds(10), 1e8}, {1, milliseconds(10), 1e8}};
  h.tell(answer);
  CHECK(h.group == std::vector<std::uint32_t>{0, 1, 4, 3});
  CHECK(h.text(Rule::kNodeUnfit).starts_with("pre-flight: node2 left out: slow"));
  CHECK(h.text(Rule::kPreflightWarning).starts_with("pre-flight: node1: slow"));
}

TEST_CASE("a slow node is replaced when there is another, and else only named") {
  for (const bool spare : {false, true}) {
    JobSpec spec = checked_spec(
        spare ? std::vector<std::uint32_t>{1, 1, 1, 1} : std::vector<std::uint32_t>{1, 1, 1}, 3);
    spec.preflight = PreflightDepth::kFull;
    Harness h(spec);
    for (std::uint32_t node = spare ? 4 : 3; node-- > 0;) h.join(node);
    NodesChecked answer = answer_to(h);
    CHECK(answer.full);
    for (NodeCheck& node : answer.nodes) {
      node.speeds = {{0, milliseconds(10), 1e9}};
    }
    answer.nodes[1].speeds = {{0, milliseconds(50), 1e9}, {1, milliseconds(50), 1e9}};
    h.tell(answer);
    CHECK(h.decided(Rule::kNodeUnfit) == spare);
    CHECK(h.decided(Rule::kPreflightWarning) == !spare);
    CHECK(h.group ==
          (spare ? std::vector<std::uint32_t>{0, 3, 2} : std::vector<std::uint32_t>{0, 1, 2}));
  }
}

TEST_CASE(
    "an agent in place of one that was lost meanwhile is asked, too; what that said is void") {
  Harness h(checked_spec({1, 1}));
  h.join_all();
  NodesChecked answer = answer_to(h);
  fill_disk(answer, 1);
  h.lose(1);
  CHECK(h.decided(Rule::kAgentLost));
  h.join(1);
  CHECK(h.job.state() == JobState::kChecking);
  h.tell(answer);  // of generation 1
  CHECK_FALSE(h.decided(Rule::kNodeUnfit));
  CHECK(h.job.state() == JobState::kChecking);
  h.tell(answer_to(h));
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("a check that never ends is not waited for for ever") {
  Harness h(checked_spec({1, 1}));
  h.join_all();
  const Nanos began = h.now;
  const NodesChecked late = answer_to(h);
  h.fire(TimerId::kState);
  CHECK(h.now - began == kPreflightFastMax);
  CHECK(h.decided(Rule::kPreflightWarning));
  CHECK(h.job.state() == JobState::kReserving);
  NodesChecked answer = late;
  fill_disk(answer, 0);
  h.tell(answer);  // of a member that is being started: too late to matter
  CHECK(h.all<NodesJudged>().empty());
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("GPUs are tested before the first start alone, and a faulty one is left out") {
  JobSpec spec = checked_spec({8, 8}, 2, 1);
  spec.preflight = PreflightDepth::kGpu;
  Harness h(spec);
  h.join_all();
  const auto orders = h.all<CheckNodes>();
  REQUIRE(orders.size() == 1);
  CHECK((orders[0].gpus && !orders[0].full));
  NodesChecked answer = answer_to(h);
  for (NodeCheck& node : answer.nodes) node.facts.probe = {.asked = true, .models = {"A"}};
  answer.nodes[0].facts.probe.faults = {"gemm: GPU 3: no answer"};
  h.tell(answer);
  CHECK(h.text(Rule::kNodeUnfit).ends_with("a test of its GPUs failed: gemm: GPU 3: no answer"));
  CHECK(h.text(Rule::kPreflight).starts_with("pre-flight (gpu): 2 nodes"));
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("tests of GPUs that never end are not waited for for ever") {
  JobSpec spec = checked_spec({1, 1});
  spec.preflight = PreflightDepth::kGpu;
  Harness h(spec);
  h.join_all();
  const Nanos began = h.now;
  h.fire(TimerId::kState);
  CHECK(h.now - began == kPreflightGpuMax);
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("another supervisor asks for the check again; what the one before had heard is void") {
  Harness h(checked_spec({1, 1}));
  h.join_all();
  NodesChecked old = answer_to(h);
  fill_disk(old, 0);
  h.tell(SupervisorResumed{2, "other", 7, {}, {}});
  CHECK(h.job.state() == JobState::kChecking);
  const NodesChecked fresh = answer_to(h);
  CHECK(fresh.check > old.check);
  h.tell(old);
  CHECK(h.actions.empty());
  h.tell(fresh);
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("a signal ends the run in the middle of a check") {
  Harness h(checked_spec({1, 1}));
  h.join_all();
  h.tell(SignalReceived{SIGTERM, false});
  CHECK(h.exit_code() == 128 + SIGTERM);
}

TEST_CASE("a spare that comes later is checked beside one of the group, and left out if unfit") {
  Harness h(checked_spec({1, 1, 1}, 2));
  h.join(0);
  h.join(1);
  h.tell(answer_to(h));
  h.begin();
  h.join(2);
  NodesChecked answer = answer_to(h);
  REQUIRE(answer.nodes.size() == 2);
  CHECK(answer.nodes[0].node.value == 0);
  answer.nodes[1].facts.software.torch = "1.0";
  h.tell(answer);
  CHECK(h.text(Rule::kNodeUnfit).starts_with("pre-flight: node2 left out: it has torch 1.0"));
  h.lose_machine(1);
  h.fire(TimerId::kState);
  CHECK(h.job.state() == JobState::kFinished);  // no node takes the place
}

TEST_CASE("a node that comes in the middle of a check is checked before it takes part") {
  Harness h(checked_spec({1, 1, 1}, 2));
  h.join(0);
  h.join(1);
  NodesChecked first = answer_to(h);
  h.join(2);
  fill_disk(first, 1);
  h.tell(first);
  CHECK(h.job.state() == JobState::kChecking);
  const NodesChecked second = answer_to(h);
  REQUIRE(second.nodes.size() == 2);
  CHECK(second.nodes[0].node.value == 0);
  CHECK(second.nodes[1].node.value == 2);
  h.tell(second);
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("a spare that came in the middle of a check is checked once the group is there") {
  Harness h(checked_spec({1, 1, 1}, 2));
  h.join(0);
  h.join(1);
  const NodesChecked first = answer_to(h);
  h.join(2);
  h.tell(first);
  CHECK(h.job.state() == JobState::kReserving);
  CHECK(answer_to(h).nodes[1].node.value == 2);
}

TEST_CASE("another supervisor asks for the check of a spare again, while the workers go on") {
  Harness h(checked_spec({1, 1, 1}, 2));
  h.join(0);
  h.join(1);
  h.tell(answer_to(h));
  h.begin();
  h.join(2);
  const NodesChecked lost = answer_to(h);
  h.tell(SupervisorResumed{2, "other", 7, {}, {}});
  NodesChecked again = answer_to(h);
  CHECK(again.check > lost.check);
  fill_disk(again, 2);
  h.tell(again);
  CHECK(h.text(Rule::kNodeUnfit).starts_with("pre-flight: node2 left out: "));
  CHECK(h.job.state() == JobState::kRunning);
  h.tell(SupervisorResumed{3, "other", 7, {}, {}});
  CHECK(h.all<CheckNodes>().empty());  // all that is there is known
}

TEST_CASE("a check alone names nodes that came too late for it") {
  JobSpec spec = checked_spec({1, 1}, 0, 1);
  spec.check_only = true;
  Harness h(spec);
  h.join_all();
  const NodesChecked answer = answer_to(h);
  h.lose(1);
  h.join(1);  // one in its place
  h.tell(answer);
  CHECK(h.exit_code() == kExitInfrastructure);
  const auto judged = h.all<NodesJudged>().at(0);
  REQUIRE(judged.verdicts.size() == 2);
  CHECK(judged.verdicts[1].findings[0].words == "it came too late to be checked");
}

TEST_CASE("a check alone ends with its verdict: 0, or 94 when a node is unfit, slow or missing") {
  enum class Case { kFit, kWarned, kUnfit, kMissing };
  for (const Case which : {Case::kFit, Case::kWarned, Case::kUnfit, Case::kMissing}) {
    JobSpec spec = checked_spec({1, 1}, 0, 1);
    spec.check_only = true;
    Harness h(spec);
    h.join(0);
    if (which == Case::kMissing) {
      h.lose(1, "connection refused", false);
    } else {
      h.join(1);
    }
    NodesChecked answer = answer_to(h);
    if (which == Case::kWarned) answer.nodes[1].clock_ahead = std::chrono::hours(1);
    if (which == Case::kUnfit) answer.nodes[1].facts.missing = "no script";
    h.tell(answer);
    const bool good = which == Case::kFit || which == Case::kWarned;
    CHECK(h.exit_code() == (good ? 0 : kExitInfrastructure));
    const auto judged = h.all<NodesJudged>();
    REQUIRE(judged.size() == 1);
    REQUIRE(judged[0].verdicts.size() == 2);
    CHECK(h.all<ReservePort>().empty());
    if (which == Case::kMissing) {
      CHECK(judged[0].verdicts[1].findings[0].words == "no agent: connection refused");
    }
  }
}

TEST_CASE("answers about nodes that do not exist are ignored") {
  Harness h(checked_spec({1, 1}));
  h.join_all();
  NodesChecked answer = answer_to(h);
  answer.nodes.push_back(healthy(77));
  answer.nodes.push_back(healthy(0xFFFFFFFF));
  answer.nodes.back().facts.missing = "x";
  h.tell(answer);
  CHECK(h.job.state() == JobState::kReserving);
  CHECK(h.all<NodesJudged>()[0].verdicts.size() == 2);
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_preflight_test
