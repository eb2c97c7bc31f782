// What agents notice about their machines, in every state.
#include <doctest/doctest.h>

#include "supervisor/core/fault/fault_class.h"
#include "tests/supervisor/job_harness.h"
#include "tests/supervisor/policy_words.h"

namespace robustrun::supervisor::test::job_health_test {
namespace {

const Classification* looks(const Harness& h, Rule rule) {
  for (const Action& action : h.actions) {
    const auto* decision = std::get_if<Decision>(&action);
    if (decision == nullptr || decision->rule != rule || !decision->looks_like) continue;
    return &*decision->looks_like;
  }
  return nullptr;
}

TEST_CASE("a machine that says it is broken is evicted while its workers still run") {
  Harness h(policy_spec({1, 1, 1}, 2, 2));
  h.run();
  h.tell(notices("broken"), 1);
  CHECK(h.text(Rule::kMachineFault) == "node1: GPU 0: broken; stopping both ranks");
  REQUIRE(looks(h, Rule::kMachineFault) != nullptr);
  CHECK(looks(h, Rule::kMachineFault)->evidence == "\"broken\" (the kernel log of node1)");
  REQUIRE(h.all<StopWorkers>().size() == 2);
  h.all_gone();
  CHECK(h.decided(Rule::kNodeEvicted));
  CHECK(h.decided(Rule::kRestart));
  h.begin();
  CHECK(h.group == std::vector<std::uint32_t>{0, 2});
}

TEST_CASE("an evicted machine that does not stop its workers is not started again") {
  Harness h(policy_spec({1, 1, 1}, 2, 2));
  h.run();
  h.tell_exit(exited(0, 0, 1));
  h.tell(notices("broken"), 1);
  REQUIRE(h.decided(Rule::kNodeEvicted));
  h.gone(0);
  h.fire(TimerId::kState);
  REQUIRE(h.decided(Rule::kRestart));
  for (const LaunchAgent& launch : h.all<LaunchAgent>()) CHECK(launch.node.value != 1);
  REQUIRE(h.all<DismissAgent>().size() == 1);
  CHECK(h.all<DismissAgent>()[0].node.value == 1);
}

TEST_CASE("a user's order evicts a machine, unless the run cannot do without it") {
  const NodeHealth order{NodeHealth::Source::kUser, {}, "a user ordered its eviction"};
  Harness h(policy_spec({1, 1, 1}, 2, 2));
  h.run();
  CHECK(h.job.why_not_evict({1}).empty());
  h.tell(order, 1);
  h.all_gone();
  CHECK(h.text(Rule::kNodeEvicted) == "node1 is evicted: a user's order");
  CHECK(h.decided(Rule::kRestart));
  CHECK(h.job.restarts_used() == 0);
  CHECK(h.job.why_not_evict({1}) == "it has been evicted already");
  CHECK(h.job.why_not_evict({0}) == "1 other machine is there, and 2 are needed");

  Harness off(group_spec({1, 1, 1}, 2, 2));
  off.run();
  CHECK(off.job.why_not_evict({1}) == "the run does not evict nodes (--compat=torchrun)");
}

TEST_CASE("where the run cannot do without it, it goes on, and says so") {
  Harness h(policy_spec({1, 1}, 2, 2));
  h.run();
  h.tell(notices("broken"), 1);
  CHECK(h.job.state() == JobState::kRunning);
  CHECK(h.text(Rule::kNodeHealth) == "node1: GPU 0: broken");
  const auto said = h.all<Decision>();
  REQUIRE(said.size() == 1);
  CHECK(said[0].alternatives ==
        std::vector<std::string>{"evict the machine: 1 other machine is there, and 2 are needed"});
}

TEST_CASE("what may pass is tolerated twice within five minutes") {
  Harness h(policy_spec({1, 1, 1}, 2, 2));
  h.run();
  for (int i = 0; i < 2; ++i) {
    h.tell(notices("flaps"), 0);
    CHECK(h.decided(Rule::kNodeHealth));
    CHECK(h.job.state() == JobState::kRunning);
  }
  SUBCASE("the third one is too much") {
    h.now += seconds(299);
    h.tell(notices("flaps"), 0);
    CHECK(h.decided(Rule::kMachineFault));
    CHECK(looks(h, Rule::kMachineFault)->evidence.ends_with(", 3 times within 300 s"));
    h.all_gone();
    CHECK(h.decided(Rule::kNodeEvicted));
  }
  SUBCASE("not when the first are long ago") {
    h.now += seconds(301);
    h.tell(notices("flaps"), 0);
    CHECK_FALSE(h.decided(Rule::kMachineFault));
  }
  SUBCASE("nor when it is another machine's") {
    h.tell(notices("flaps"), 1);
    CHECK_FALSE(h.decided(Rule::kMachineFault));
  }
  SUBCASE("nor when it says that it is well again") {
    NodeHealth well = notices("flaps");
    well.over = true;
    h.tell(well, 0);
    CHECK(h.text(Rule::kNodeHealth) == "node0: GPU 0: flaps (well again)");
    CHECK(h.job.state() == JobState::kRunning);
  }
}

TEST_CASE("a code of the driver counts without its text") {
  JobSpec spec = policy_spec({1, 1, 1}, 2, 2);
  spec.faults.front().texts.clear();
  spec.faults.front().xids = {79};
  Harness h(spec);
  h.run();
  h.tell(NodeHealth{NodeHealth::Source::kGpu, "GPU 3", "it was lost", 13, false}, 0);
  CHECK_FALSE(h.decided(Rule::kMachineFault));
  h.tell(NodeHealth{NodeHealth::Source::kGpu, "GPU 3", "it was lost", 79, false}, 0);
  CHECK(h.decided(Rule::kMachineFault));
}

TEST_CASE("a finding without a row is reported, and nothing is done") {
  Harness h(policy_spec({1, 1, 1}, 2, 2));
  h.run();
  for (int i = 0; i < 10; ++i) {
    h.tell(notices("something new"), 0);
    CHECK(h.text(Rule::kNodeHealth) == "node0: GPU 0: something new");
    CHECK(h.job.state() == JobState::kRunning);
  }
}

TEST_CASE("what a machine said shortly before explains a failure that nothing else does") {
  Harness h(policy_spec({1, 1, 1}, 2, 2));
  // Nothing could take the spare's place at first, so it is only said.
  h.join(0);
  h.join(1);
  h.begin();
  h.tell(notices("broken"), 1);
  REQUIRE(h.decided(Rule::kNodeHealth));
  h.join(2);
  SUBCASE("within ten minutes") {
    h.now += seconds(60);
    h.tell_exit(killed(h.job.attempt().value, 0, 6));
    h.all_gone();
    REQUIRE(looks(h, Rule::kRestart) != nullptr);
    CHECK(looks(h, Rule::kRestart)->evidence.find("1 min 00 s before the end of the attempt") !=
          std::string::npos);
    CHECK(h.text(Rule::kNodeEvicted).starts_with("node1 is evicted"));
    CHECK(h.text(Rule::kRestart).starts_with("free restart"));
    CHECK(h.group.back() == 2);
  }
  SUBCASE("not later") {
    h.now += seconds(601);
    h.tell_exit(killed(h.job.attempt().value, 0, 9));
    h.all_gone();
    CHECK_FALSE(h.decided(Rule::kNodeEvicted));
  }
  SUBCASE("not one that is clear by itself") {
    h.first_step();
    h.tell_exit(says(h.job.attempt().value, 0, "wrong"));
    h.all_gone();
    CHECK_FALSE(h.decided(Rule::kNodeEvicted));
    CHECK(h.text(Rule::kRestart).starts_with("restart 1 of 3"));
  }
}

TEST_CASE("a spare that reports a broken machine is evicted; nothing is stopped for it") {
  Harness h(policy_spec({1, 1, 1}, 2, 2));
  h.run();
  h.tell(notices("broken"), 2);
  CHECK(h.decided(Rule::kNodeEvicted));
  CHECK(h.job.state() == JobState::kRunning);
  h.lose_machine(1);
  if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
  CHECK_FALSE(h.decided(Rule::kNodeReplaced));
}

TEST_CASE("while nothing runs yet, the group is formed without it") {
  SUBCASE("agents are joining") {
    Harness h(policy_spec({1, 1, 1}, 2, 2));
    h.join(1);
    h.join(2);
    h.tell(notices("broken"), 1);  // node0 is on the way: two others are not there yet
    CHECK(h.decided(Rule::kNodeHealth));
    h.join(0);
    CHECK(h.group == std::vector<std::uint32_t>{0, 1});
  }
  SUBCASE("a port is being reserved") {
    Harness h(policy_spec({1, 1, 1}, 2, 2));
    h.join_all();
    REQUIRE(h.job.state() == JobState::kReserving);
    h.tell(notices("broken"), 1);
    CHECK(h.decided(Rule::kNodeEvicted));
    CHECK(h.decided(Rule::kMachineFault));
    if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
    h.begin();
    CHECK(h.group == std::vector<std::uint32_t>{0, 2});
  }
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_health_test
