// What is done between two attempts: every step of the ladders, driven through the machine.
#include <doctest/doctest.h>

#include "supervisor/core/types/limits.h"
#include "tests/supervisor/job_harness.h"
#include "tests/supervisor/policy_words.h"
#include "tests/supervisor/preflight_facts.h"

namespace robustrun::supervisor::test::job_escalation_test {
namespace {

// Rank 0 fails, saying that, and everything else stops.
void fail(Harness& h, const std::string& line, std::uint32_t rank = 0) {
  h.tell_exit(says(h.job.attempt().value, rank, line));
  h.all_gone();
}

void go_on(Harness& h) {
  if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
  h.begin();
}

NodesChecked check_result(const Harness& h, std::uint64_t number,
                          std::vector<std::uint32_t> nodes) {
  NodesChecked checked;
  checked.check = number;
  checked.full = true;
  for (const std::uint32_t node : nodes) {
    checked.nodes.push_back(healthy(node, h.generation[node]));
  }
  return checked;
}

std::vector<std::string> alternatives(const Harness& h, Rule rule) {
  for (const Decision& decision : h.all<Decision>()) {
    if (decision.rule == rule) return decision.alternatives;
  }
  return {"no such decision"};
}

TEST_CASE("a broken machine is evicted, and a spare takes its place and its ranks") {
  Harness h(policy_spec({1, 1, 1}, 2, 2));
  h.run();
  fail(h, "broken", 1);
  REQUIRE(h.decided(Rule::kNodeEvicted));
  CHECK(h.text(Rule::kNodeEvicted).starts_with("node1 is evicted: it is broken"));
  CHECK(h.text(Rule::kNodeReplaced) == "node2 takes the place of node1 (it is broken)");
  CHECK(h.text(Rule::kRestart).starts_with("free restart (likely not your code)"));
  for (const Decision& decision : h.all<Decision>()) {
    if (decision.rule == Rule::kNodeEvicted) CHECK(decision.nodes == std::vector{base::NodeId{1}});
  }
  go_on(h);
  CHECK(h.group == std::vector<std::uint32_t>{0, 2});
  // It stays out: also when another one is lost.
  h.lose_machine(0);
  CHECK(h.job.state() != JobState::kFinished);
  CHECK_FALSE(h.decided(Rule::kNodeReplaced));
}

TEST_CASE("an evicted machine is no reason to let a needed one wait") {
  Harness h(policy_spec({1, 1, 1}, 2, 2));
  h.run();
  fail(h, "broken", 1);
  REQUIRE(h.decided(Rule::kNodeEvicted));
  go_on(h);
  for (int loss = 0; loss < 3; ++loss) {
    h.tell(AgentLost{"killed by SIGKILL", true}, 0);
    REQUIRE(h.all<LaunchAgent>().size() == 1);
    CHECK(h.all<LaunchAgent>().front().node == base::NodeId{0});
    h.tell(AgentJoined{20, {}, 0}, 0);
    h.all_gone();
    go_on(h);
  }
}

TEST_CASE("an evicted machine that did not stop its workers in time is told to go") {
  Harness h(policy_spec({1, 1, 1}, 2, 2));
  h.run();
  h.tell_exit(says(0, 1, "broken"));
  h.gone(0);
  h.fire(TimerId::kState);
  REQUIRE(h.decided(Rule::kNodeEvicted));
  const auto dismissed = h.all<DismissAgent>();
  REQUIRE(dismissed.size() == 1);
  CHECK(dismissed[0].node == base::NodeId{1});
  for (const LaunchAgent& launch : h.all<LaunchAgent>()) CHECK(launch.node != base::NodeId{1});
}

TEST_CASE("without a spare a broken machine is left out if the group may shrink") {
  Harness h(policy_spec({1, 1, 1}, 2, 3));
  h.run();
  fail(h, "broken", 2);
  CHECK(h.decided(Rule::kNodeEvicted));
  CHECK(h.decided(Rule::kGroupShrunk));
  go_on(h);
  CHECK(h.group == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("where no machine can be spared, the next rung is taken: all nodes are checked") {
  Harness h(policy_spec({1, 1}, 2, 2));
  h.run();
  fail(h, "broken", 1);
  CHECK_FALSE(h.decided(Rule::kNodeEvicted));
  REQUIRE(h.decided(Rule::kStopTimeCheck));
  CHECK(alternatives(h, Rule::kRestart).front() ==
        "evict: 1 other machine is there, and 2 are needed");
  REQUIRE(h.job.state() == JobState::kChecking);
  const auto order = h.all<CheckNodes>();
  REQUIRE(order.size() == 1);
  CHECK(order[0].full);
  CHECK(order[0].nodes.size() == 2);
  h.tell(check_result(h, order[0].check, {0, 1}));
  CHECK(h.text(Rule::kPreflight).starts_with("check (full): 2 nodes checked"));
  REQUIRE(h.job.state() == JobState::kReserving);
  h.begin();
  // The same again: it was checked once, so it is started again.
  h.first_step();
  fail(h, "broken", 1);
  CHECK_FALSE(h.decided(Rule::kStopTimeCheck));
  CHECK(h.decided(Rule::kRestart));
}

TEST_CASE(
    "on a broken machine that nothing can replace restarts are counted, and 94 ends the run") {
  JobSpec spec = policy_spec({2}, 1, 1);
  spec.restart.max_restarts = 1;
  Harness h(spec);
  h.run();
  fail(h, "broken");
  CHECK(h.text(Rule::kRestart).starts_with("restart 1 of 1"));
  CHECK(alternatives(h, Rule::kRestart) ==
        std::vector<std::string>{"evict: 0 other machines are there, and 1 is needed",
                                 "check: there is no other machine to compare with"});
  go_on(h);
  h.first_step();
  fail(h, "broken");
  CHECK(h.exit_code() == 94);
}

TEST_CASE("a network's failure is not counted: it is tried again, and then the machine goes") {
  JobSpec spec = policy_spec({1, 1, 1}, 2, 2);
  spec.restart.max_restarts = 0;
  spec.policy.blamed = 0;
  Harness h(spec);
  h.run();
  for (int i = 0; i < 3; ++i) {
    h.first_step();
    fail(h, "flaps", 1);
    CHECK(h.text(Rule::kRestart).starts_with("free restart"));
    CHECK(h.decided(Rule::kNodeEvicted) == (i == 2));
    go_on(h);
  }
}

TEST_CASE("a node that fails the check between two attempts is left out") {
  Harness h(policy_spec({1, 1, 1}, 2, 2));
  h.run();
  fail(h, "odd");
  const auto order = h.all<CheckNodes>();
  REQUIRE(order.size() == 1);
  NodesChecked result = check_result(h, order[0].check, {0, 1, 2});
  result.nodes[1].facts.missing = "no script";
  h.tell(result);
  CHECK(h.decided(Rule::kNodeUnfit));
  h.begin();
  CHECK(h.group == std::vector<std::uint32_t>{0, 2});
}

TEST_CASE("a check between two attempts that does not end is not waited for") {
  Harness h(policy_spec({1, 1}, 2, 2));
  h.run();
  fail(h, "odd");
  REQUIRE(h.job.state() == JobState::kChecking);
  h.fire(TimerId::kState);
  CHECK(h.decided(Rule::kPreflightWarning));
  REQUIRE(h.job.state() == JobState::kReserving);
  h.begin();
  fail(h, "odd");
  CHECK(h.job.state() != JobState::kChecking);  // once is enough
}

TEST_CASE("a spare that comes during a check between two attempts is checked after it") {
  for (const bool is_unfit : {true, false}) {
    JobSpec spec = policy_spec({1, 1, 1}, 2, 2);
    spec.preflight = PreflightDepth::kFast;
    Harness h(spec);
    h.join(0);
    h.join(1);
    REQUIRE(h.all<CheckNodes>().size() == 1);
    h.tell(check_result(h, h.all<CheckNodes>()[0].check, {0, 1}));
    h.begin();
    fail(h, "odd");
    REQUIRE(h.job.state() == JobState::kChecking);
    REQUIRE(h.all<CheckNodes>().size() == 1);
    NodesChecked result = check_result(h, h.all<CheckNodes>()[0].check, {0, 1});
    h.join(2);
    CHECK(h.all<CheckNodes>().empty());
    CHECK(h.decided(Rule::kSpareChanged));
    if (is_unfit) result.nodes[1].facts.missing = "no script";
    h.tell(result);
    CHECK(h.text(Rule::kPreflight).starts_with("check (full): 2 nodes checked"));
    CHECK(h.decided(Rule::kNodeUnfit) == is_unfit);
    CHECK(h.group == std::vector<std::uint32_t>{0, is_unfit ? 2U : 1U});
    const auto orders = h.all<CheckNodes>();
    REQUIRE(orders.size() == (is_unfit ? 0 : 1));
    if (!is_unfit) CHECK(orders[0].nodes == std::vector{base::NodeId{0}, base::NodeId{2}});
  }
}

TEST_CASE("a successor asks for the check again") {
  Harness h(policy_spec({1, 1}, 2, 2));
  h.run();
  fail(h, "odd");
  const auto before = h.all<CheckNodes>();
  REQUIRE(before.size() == 1);
  h.tell(SupervisorResumed{2, "other", 7, {}, {}});
  const auto after = h.all<CheckNodes>();
  REQUIRE(after.size() == 1);
  CHECK(after[0].full);
  CHECK(after[0].check > before[0].check);
}

TEST_CASE("what is the script's is not blamed on a machine, and is counted") {
  Harness h(policy_spec({1, 1, 1}, 2, 2));
  h.run();
  h.first_step();
  fail(h, "wrong");
  CHECK_FALSE(h.decided(Rule::kNodeEvicted));
  CHECK_FALSE(h.decided(Rule::kStopTimeCheck));
  CHECK(h.text(Rule::kRestart).starts_with("restart 1 of 3"));
  CHECK(alternatives(h, Rule::kRestart).empty());  // a run that was not updated has none to name
}

TEST_CASE("what no restart can help is giving up after one, with the script's own exit code") {
  Harness h(policy_spec({1, 1}, 2, 2));
  h.run();
  h.first_step();
  fail(h, "hopeless");
  REQUIRE(h.decided(Rule::kRestart));
  go_on(h);
  h.first_step();
  fail(h, "hopeless");
  CHECK(h.text(Rule::kBudgetExhausted) == "no restart: it would not help (it is hopeless)");
  CHECK(h.exit_code() == 1);
}

TEST_CASE("failures that are traced to one machine again and again evict it if a spare is there") {
  for (const bool has_spare : {true, false}) {
    CAPTURE(has_spare);
    Harness h(policy_spec(
        has_spare ? std::vector<std::uint32_t>{1, 1, 1} : std::vector<std::uint32_t>{1, 1}, 2, 2));
    h.run();
    for (int i = 0; i < 3; ++i) {
      h.first_step();
      h.now += seconds(700);  // the ladders are forgotten, the machine is not
      h.tell(Progress{h.job.attempt(), Progress::Mark::kSummary, h.now, 100, {}, {}, {}});
      h.tell_exit(killed(h.job.attempt().value, 1, 9));
      h.all_gone();
      CHECK(h.decided(Rule::kNodeEvicted) == (i == 2 && has_spare));
      go_on(h);
    }
    CHECK(h.group.back() == (has_spare ? 2 : 1));
  }
}

TEST_CASE("machines of a hang are evicted together when it comes again; the innocent return") {
  Harness h(policy_spec({1, 1, 1, 1, 1}, 3, 3));
  h.run();
  const auto hang = [&] {
    tracer::Verdict verdict;
    verdict.finding = tracer::Finding::kGroupFailure;
    verdict.culprits = {{0}, {1}};
    verdict.sentence = "the rank is unknown";
    h.tell(Diagnosed{h.job.attempt(), Diagnosed::Stage::kConvicted, verdict, {}});
    h.all_gone();
  };
  for (int i = 0; i < 2; ++i) {
    hang();
    CHECK_FALSE(h.decided(Rule::kNodeEvicted));
    go_on(h);
  }
  hang();
  REQUIRE(h.decided(Rule::kNodeEvicted));
  CHECK(h.text(Rule::kNodeEvicted)
            .starts_with("node0 and node1 are evicted, because any of them may"));
  auto tests = h.all<CheckNodes>();
  REQUIRE(tests.size() == 1);
  CHECK(tests[0].nodes == std::vector{base::NodeId{0}, base::NodeId{1}});
  go_on(h);
  SUBCASE("under the same supervisor") {}
  SUBCASE("under another one, which asks again") {
    h.tell(SupervisorResumed{2, "other", 7, {}, {}});
    tests = h.all<CheckNodes>();
    REQUIRE(tests.size() == 1);
    CHECK(tests[0].full);
    CHECK(tests[0].nodes == std::vector{base::NodeId{0}, base::NodeId{1}});
  }
  CHECK(h.group == std::vector<std::uint32_t>{3, 4, 2});
  NodesChecked result = check_result(h, tests[0].check, {0, 1});
  result.nodes[0].facts.missing = "no script";
  h.tell(result);
  CHECK(h.text(Rule::kNodeUnfit).starts_with("node0 stays evicted"));
  CHECK(h.text(Rule::kNodeReturned) ==
        "node1 passed a full check and is a spare; return 1 of at most 2");
  // It is one: the next machine that goes is replaced by it.
  h.lose_machine(2);
  if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
  if (h.job.state() == JobState::kJoining) h.fire(TimerId::kState);
  CHECK(h.group == std::vector<std::uint32_t>{3, 4, 1});
}

TEST_CASE("machines that are cleared and suspected again are spares so often, and no more") {
  JobSpec spec = policy_spec({1, 1, 1, 1, 1}, 3, 3);
  spec.restart.max_restarts = 100;
  Harness h(spec);
  h.run();
  std::vector<std::uint32_t> returns(5);
  int hangs = 0;
  int last_return = 0;
  for (; hangs < 60 && h.job.state() == JobState::kRunning; ++hangs) {
    h.first_step();
    tracer::Verdict verdict;
    verdict.finding = tracer::Finding::kGroupFailure;
    verdict.culprits = {{0}, {1}};
    verdict.sentence = "the rank is unknown";
    h.tell(Diagnosed{h.job.attempt(), Diagnosed::Stage::kConvicted, verdict, {}});
    h.all_gone();
    for (const CheckNodes& order : h.all<CheckNodes>()) {
      std::vector<std::uint32_t> nodes;
      for (const base::NodeId node : order.nodes) nodes.push_back(node.value);
      h.tell(check_result(h, order.check, nodes));
      for (const Decision& decision : h.all<Decision>()) {
        if (decision.rule != Rule::kNodeReturned) continue;
        ++returns[decision.nodes.front().value];
        last_return = hangs;
      }
    }
    if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
    if (h.job.state() == JobState::kReserving) h.begin();
  }
  CHECK(std::ranges::max(returns) == kReturnsMax);
  CHECK(last_return + 10 < hangs);
}

TEST_CASE("with --compat=torchrun, and without a policy, every failure is answered by a restart") {
  for (const bool compat : {true, false}) {
    JobSpec spec = policy_spec({1, 1, 1}, 2, 2);
    spec.policy = {};
    spec.compat = compat;
    Harness h(spec);
    h.run();
    fail(h, "broken", 1);
    CHECK_FALSE(h.decided(Rule::kNodeEvicted));
    CHECK(h.text(Rule::kRestart).starts_with("restart 1 of 3"));
  }
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_escalation_test
