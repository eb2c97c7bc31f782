// Machines that are surely broken and that nothing can replace, and those that come back while the
// run waits for nodes.
#include <doctest/doctest.h>

#include "supervisor/core/types/limits.h"
#include "tests/supervisor/job_harness.h"
#include "tests/supervisor/policy_words.h"
#include "tests/supervisor/preflight_facts.h"

namespace robustrun::supervisor::test::job_readmit_test {
namespace {

using Nodes = std::vector<std::uint32_t>;
constexpr auto kLimit = std::chrono::minutes(10);

JobSpec needed_spec(Nanos wait_for_nodes) {
  JobSpec spec = policy_spec({1, 1}, 2, 2);
  spec.group.wait_for_nodes = wait_for_nodes;
  return spec;
}

void answer(Harness& h, const CheckNodes& order, bool well) {
  NodesChecked result;
  result.check = order.check;
  result.full = order.full;
  for (const base::NodeId node : order.nodes) {
    result.nodes.push_back(healthy(node.value, h.generation[node.value]));
    if (!well) result.nodes.back().facts.missing = "no GPU";
  }
  h.tell(result);
}

// Rank 1 fails as a broken machine does.
void fail(Harness& h, const char* line = "broken") {
  h.tell_exit(says(h.job.attempt().value, 1, line));
  h.all_gone();
}

// Through the check between two attempts, if there is one, until the workers run.
void go_on(Harness& h) {
  if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
  if (h.job.state() == JobState::kChecking) answer(h, h.all<CheckNodes>().front(), true);
  h.begin();
  h.first_step();
}

// Until the run waits for nodes without the second machine.
void lose_it(Harness& h) {
  for (int failures = 0; h.job.state() == JobState::kRunning; ++failures) {
    REQUIRE(failures < 2);
    fail(h);
    if (h.job.state() != JobState::kJoining) go_on(h);
  }
  REQUIRE(h.decided(Rule::kWaitForNodes));
}

// While the run waits, until the next test is ordered.
CheckNodes next_test(Harness& h) {
  while (h.all<CheckNodes>().empty()) {
    REQUIRE(h.job.state() == JobState::kJoining);
    h.fire(TimerId::kState);
  }
  return h.all<CheckNodes>().front();
}

TEST_CASE(
    "a broken machine that the run needs is tried once more, then the run waits for another") {
  Harness h(needed_spec(kLimit));
  h.run();
  h.first_step();
  fail(h);
  CHECK_FALSE(h.decided(Rule::kNodeEvicted));
  CHECK(h.text(Rule::kRestart) ==
        "restart 1 of 3: starting 2 workers on 2 nodes again; node1 is broken (it is "
        "broken), and there is no spare: if it fails again it is evicted, and the run waits for a "
        "node (--wait-for-nodes)");
  go_on(h);
  fail(h);
  CHECK(h.text(Rule::kNodeEvicted) ==
        "node1 is evicted: it is broken; there is no spare: waiting up to 600 s for a node "
        "(--wait-for-nodes)");
  CHECK(h.text(Rule::kRestart) ==
        "free restart (likely not your code): starting 2 workers on 2 nodes "
        "again when a node is there");
  CHECK(h.text(Rule::kWaitForNodes) ==
        "only 1 of the 2 nodes needed: node1: it is broken; waiting for more, at most "
        "600 s; node1 is tested again meanwhile");
  const Nanos since = h.now;
  while (h.job.state() == JobState::kJoining) {
    h.fire(TimerId::kState);
    for (const CheckNodes& order : h.all<CheckNodes>()) answer(h, order, false);
  }
  CHECK(h.now - since == kLimit);
  CHECK(h.exit_code() == 94);
}

TEST_CASE("before any progress it is no crash loop of the script's either") {
  SUBCASE("the run waits") {
    Harness h(needed_spec(kLimit));
    h.run();
    fail(h);
    answer(h, h.all<CheckNodes>().front(), true);
    h.begin();
    fail(h);
    CHECK(h.decided(Rule::kNodeEvicted));
    CHECK_FALSE(h.decided(Rule::kCrashLoop));
  }
  SUBCASE("or ends with 94 and says what would help") {
    Harness h(needed_spec({}));
    h.run();
    fail(h);
    answer(h, h.all<CheckNodes>().front(), true);
    h.begin();
    fail(h);
    CHECK_FALSE(h.decided(Rule::kNodeEvicted));
    CHECK(h.text(Rule::kInfrastructureGivenUp) ==
          "giving up: failed twice in the same way; node1 is broken (it is "
          "broken), and there is no spare: start the run with spares (--spares), a group that may "
          "shrink (--nnodes MIN:MAX) or time to wait for a node (--wait-for-nodes)");
    CHECK(h.exit_code() == 94);
  }
}

TEST_CASE("where no node may be waited for every restart says what is wrong, and so does the end") {
  JobSpec spec = needed_spec({});
  spec.restart.max_restarts = 2;
  Harness h(spec);
  h.run();
  h.first_step();
  for (int restart = 0; restart < 2; ++restart) {
    fail(h);
    CHECK(h.text(Rule::kRestart).find("node1 is broken (it is broken), and there is no spare") !=
          std::string::npos);
    CHECK(h.text(Rule::kRestart).ends_with("time to wait for a node (--wait-for-nodes)"));
    go_on(h);
  }
  fail(h);
  CHECK(
      h.text(Rule::kBudgetExhausted).starts_with("no restart left: 2 of 2 used; node1 is broken"));
  CHECK(h.exit_code() == 94);
}

TEST_CASE("without a restart left on it the run waits the first time") {
  JobSpec spec = needed_spec(kLimit);
  spec.restart.max_restarts = 0;
  Harness h(spec);
  h.run();
  fail(h);
  CHECK(h.decided(Rule::kNodeEvicted));
  CHECK(h.job.state() == JobState::kJoining);
}

TEST_CASE("a node that is not surely broken, or that the policy keeps, is not waited for") {
  JobSpec spec = needed_spec(kLimit);
  const char* line = "broken";
  SUBCASE("what may pass") { line = "flaps"; }
  SUBCASE("what is not clear") { line = "odd"; }
  SUBCASE("a ladder without that step") {
    spec.policy.ladders.front().rungs = {{Step::kRestart, 0}};
  }
  Harness h(spec);
  h.run();
  for (int i = 0; i < 3; ++i) {
    h.first_step();
    fail(h, line);
    CHECK_FALSE(h.decided(Rule::kNodeEvicted));
    CHECK(h.text(Rule::kRestart).find("evicted") == std::string::npos);  // nothing is promised
    go_on(h);
  }
}

TEST_CASE("sure failures that are long ago do not count") {
  Harness h(needed_spec(kLimit));
  h.run();
  for (int i = 0; i < 3; ++i) {
    h.first_step();
    h.now += std::chrono::minutes(61);
    h.tell(Progress{h.job.attempt(), Progress::Mark::kSummary, h.now, 100, {}, {}, {}});
    fail(h);
    CHECK_FALSE(h.decided(Rule::kNodeEvicted));
    go_on(h);
  }
}

TEST_CASE(
    "an evicted machine is tested again and again while the run waits, and returns when fit") {
  Harness h(needed_spec(kLimit));
  h.run();
  lose_it(h);
  const Nanos since = h.now;
  CheckNodes test = next_test(h);
  CHECK(h.now - since == seconds(10));
  CHECK(test.full);
  CHECK(test.nodes == std::vector{base::NodeId{1}});
  answer(h, test, false);
  CHECK(h.text(Rule::kNodeUnfit).starts_with("node1 stays out: "));
  CHECK(h.job.state() == JobState::kJoining);
  test = next_test(h);
  CHECK(h.now - since == seconds(30));
  h.now += seconds(5);
  answer(h, test, true);
  CHECK(h.text(Rule::kNodeReturned)
            .starts_with("node1 passed a full check and takes part again because the run waits for "
                         "nodes (left out "));
  CHECK(h.text(Rule::kNodeReturned).ends_with("); return 1 of at most 2"));
  CHECK(h.job.state() == JobState::kReserving);
  h.begin();
  CHECK(h.group == Nodes{0, 1});
}

TEST_CASE("a test without an answer is repeated, and what comes late counts") {
  Harness h(needed_spec(std::chrono::hours(1)));
  h.run();
  lose_it(h);
  const CheckNodes first = next_test(h);
  const Nanos since = h.now;
  h.fire(TimerId::kState);
  const CheckNodes second = next_test(h);
  CHECK(h.now - since == kPreflightFullMax + seconds(10));
  CHECK(second.check > first.check);
  answer(h, first, true);
  CHECK(h.decided(Rule::kNodeReturned));
  const auto state = h.job.state();
  answer(h, second, false);
  CHECK_FALSE(h.decided(Rule::kNodeUnfit));
  CHECK(h.job.state() == state);
}

TEST_CASE("a machine that passes every test and fails again returns so often, and no more") {
  Harness h(needed_spec(kLimit));
  h.run();
  h.first_step();
  lose_it(h);
  for (std::uint32_t i = 0; i < kReturnsMax; ++i) {
    answer(h, next_test(h), true);
    REQUIRE(h.decided(Rule::kNodeReturned));
    h.begin();
    h.first_step();
    fail(h);
    CHECK(h.decided(Rule::kNodeEvicted));
  }
  CHECK(h.text(Rule::kWaitForNodes).ends_with("waiting for more, at most 600 s"));
  while (h.job.state() == JobState::kJoining) {
    h.fire(TimerId::kState);
    CHECK(h.all<CheckNodes>().empty());
  }
  CHECK(h.exit_code() == 94);
}

TEST_CASE("the agent of a machine that was repaired is started for the test") {
  Harness h(needed_spec(kLimit));
  h.run();
  lose_it(h);
  h.lose(1, "no power", false);
  const auto fire_until_launched = [&h] {
    while (h.all<LaunchAgent>().empty()) {
      REQUIRE(h.job.state() == JobState::kJoining);
      h.fire(TimerId::kState);
    }
    CHECK(h.all<LaunchAgent>().front().node == base::NodeId{1});
  };
  fire_until_launched();
  h.lose(1, "still no power", false);
  fire_until_launched();
  h.join(1);
  REQUIRE(h.all<CheckNodes>().size() == 1);
  answer(h, h.all<CheckNodes>().front(), true);
  CHECK(h.decided(Rule::kNodeReturned));
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("one that comes when the run goes on without it is no spare") {
  Harness h(policy_spec({1, 1, 1}, 2, 2));
  h.run();
  fail(h);
  REQUIRE(h.decided(Rule::kNodeEvicted));
  h.begin();
  h.first_step();
  CHECK(h.group == Nodes{0, 2});
  CHECK(h.all<CheckNodes>().empty());
}

TEST_CASE("a node that the check between two attempts found unfit may return as well") {
  Harness h(needed_spec(kLimit));
  h.run();
  h.first_step();
  fail(h);
  NodesChecked result;
  result.check = h.all<CheckNodes>().front().check;
  result.full = true;
  result.nodes = {healthy(0, h.generation[0]), healthy(1, h.generation[1])};
  result.nodes[1].facts.missing = "no GPU";
  h.tell(result);
  REQUIRE(h.decided(Rule::kWaitForNodes));
  answer(h, next_test(h), true);
  CHECK(h.decided(Rule::kNodeReturned));
  h.begin();
  CHECK(h.group == Nodes{0, 1});
}

TEST_CASE("in an open group a machine offers itself, and none is tested") {
  JobSpec spec = open_spec(2, 2);
  spec.policy = full_policy();
  spec.faults = policy_faults();
  spec.restart.max_restarts = 0;
  Harness h(spec);
  h.join(h.offer("a"));
  h.join(h.offer("b"));
  h.begin();
  fail(h);
  REQUIRE(h.decided(Rule::kNodeEvicted));
  CHECK(h.text(Rule::kWaitForNodes).ends_with("at most 600 s"));
  h.fire(TimerId::kState);
  h.fire(TimerId::kState);
  CHECK(h.all<CheckNodes>().empty());
  h.join(h.offer("b"));
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("a replay of the journal knows of tests and returns") {
  Harness h(needed_spec(kLimit));
  h.run();
  lose_it(h);
  answer(h, next_test(h), false);
  answer(h, next_test(h), true);
  Job replayed;
  for (const Event& event : h.journal) replayed.handle(event);
  CHECK(replayed.digest() == h.job.digest());
  CHECK(replayed.state() == JobState::kReserving);
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_readmit_test
