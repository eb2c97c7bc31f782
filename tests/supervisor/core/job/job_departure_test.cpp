// Nodes whose command, or agent, is told to end: they leave, and nothing has failed.
#include <doctest/doctest.h>

#include <csignal>

#include "supervisor/core/job/job.h"
#include "tests/supervisor/job_harness.h"
#include "tests/supervisor/policy_words.h"

namespace robustrun::supervisor::test::job_departure_test {
namespace {

using Nodes = std::vector<std::uint32_t>;

constexpr const char* kWhy = "its command got SIGTERM";

void leave(Harness& h, std::uint32_t node) { h.tell(NodeEnding{kWhy, SIGTERM}, node); }
// What its agent says before it goes.
void part(Harness& h, std::uint32_t node) { h.lose(node, "it was told to end on its node"); }

// Three volunteers, a worker each, of a group that may be of one.
Harness three(JobSpec spec = open_spec(1, 3)) {
  Harness h(std::move(spec));
  for (const char* name : {"a", "b", "c"}) h.join(h.offer(name));
  h.begin();
  REQUIRE(h.group == Nodes{0, 1, 2});
  return h;
}

// The workers of all nodes end as they were told to, and the node goes.
void end_attempt_without(Harness& h, std::uint32_t node) {
  h.all_gone();
  part(h, node);
  while (h.job.state() == JobState::kJoining) h.fire(TimerId::kState);
}

TEST_CASE("the workers of a node that leaves, and the others', are told to end and may save") {
  Harness h = three();
  leave(h, 2);
  CHECK(h.text(Rule::kNodeLeft) ==
        "c leaves the run: its command got SIGTERM; stopping all workers, which have 30 s to save");
  const auto stops = h.all<StopWorkers>();
  REQUIRE(stops.size() == 3);
  for (const StopWorkers& stop : stops) {
    CHECK(stop.signal == SIGTERM);
    CHECK(stop.grace == seconds(30));
    CHECK(stop.reason == StopReason::kPreempt);
    CHECK(stop.save_first);
  }
  leave(h, 2);  // on a new connection
  CHECK(h.actions.empty());
}

TEST_CASE("nothing is started on a node that leaves, though its agent is still there") {
  Harness h = three();
  leave(h, 2);
  h.all_gone();
  CHECK(h.text(Rule::kRestart) ==
        "free restart (nothing failed): starting the workers on 2 nodes again");
  while (h.job.state() == JobState::kJoining) h.fire(TimerId::kState);
  CHECK(h.text(Rule::kGroupShrunk) == "there is no spare: going on with 2 of 3 nodes");
  CHECK(h.group == Nodes{0, 1});
  h.begin();
  part(h, 2);
  CHECK(h.job.state() == JobState::kRunning);
  CHECK_FALSE(h.decided(Rule::kSpareChanged));  // it was said before
}

TEST_CASE("departures cost no restart and are no crash loop, however many there are") {
  JobSpec spec = open_spec(1, 3);
  spec.restart.max_restarts = 0;
  spec.restart.max_infrastructure_restarts = 1;
  Harness h = three(spec);
  for (int round = 0; round < 20; ++round) {
    const std::uint32_t node = h.group.back();
    const auto rank = static_cast<std::uint32_t>(h.group.size() - 1);
    leave(h, node);
    // Its peers fail because of that, and report an earlier time than it happened.
    WorkerExited peer = exited(h.job.attempt().value, 0, 1);
    peer.error_message = "Connection closed by peer";
    peer.error_timestamp_s = 1'700'000'000;
    h.tell_exit(peer);
    h.tell_exit(killed(h.job.attempt().value, rank, SIGTERM));
    end_attempt_without(h, node);
    REQUIRE(h.job.state() == JobState::kReserving);
    h.begin();
    // Another one takes its place, at the latest when the group has lived for a while.
    h.join(h.offer("d"));
    if (h.job.state() == JobState::kRunning) h.fire(TimerId::kUptime);
    REQUIRE(h.job.state() == JobState::kStopping);
    h.all_gone();
    REQUIRE(h.job.state() == JobState::kReserving);
    h.begin();
    REQUIRE(h.group.size() == 3);
  }
}

TEST_CASE("a spare that leaves, or a node whose workers have ended, disturbs no other node") {
  Harness h = three(open_spec(1, 2 + 1));
  h.join(h.offer("spare"));
  leave(h, 3);
  CHECK(h.text(Rule::kSpareChanged) == "spare leaves the run: its command got SIGTERM");
  part(h, 3);
  h.tell_exit(exited(0, 1, 0));
  leave(h, 1);
  CHECK(h.job.state() == JobState::kRunning);
  h.gone(1);
  part(h, 1);
  h.tell_exit(exited(0, 0, 0));
  h.tell_exit(exited(0, 2, 0));
  h.gone(0);
  h.gone(2);
  CHECK(h.exit_code() == 0);
}

TEST_CASE("a node that leaves before anything runs is left out") {
  Harness h(open_spec(1, 3));
  for (const char* name : {"a", "b", "c"}) h.join(h.offer(name));
  CHECK(h.job.state() == JobState::kReserving);
  leave(h, 0);
  CHECK(h.job.state() == JobState::kJoining);
  part(h, 0);
  h.fire(TimerId::kState);
  CHECK(h.group == Nodes{1, 2});
  h.begin();
}

TEST_CASE("a node of the host list that leaves is not tried again for as long as any") {
  JobSpec spec = group_spec({1, 1, 1}, 2, 2);
  Harness h(spec);
  h.run();
  const Nanos left_at = h.now;
  leave(h, 1);
  CHECK(h.all<LaunchAgent>().empty());
  h.all_gone();
  part(h, 1);
  CHECK(h.all<LaunchAgent>().empty());
  CHECK(h.group == Nodes{0, 2});
  h.begin();
  h.fire(TimerId::kNodes);
  CHECK(h.now - left_at == spec.group.retry_max);
  REQUIRE(h.all<LaunchAgent>().size() == 1);
  h.join(1);
  CHECK(h.decided(Rule::kSpareChanged));
}

TEST_CASE("with too few nodes left the run waits for another one") {
  Harness h = three(open_spec(3, 3));
  leave(h, 2);
  h.all_gone();
  CHECK(h.text(Rule::kWaitForNodes)
            .starts_with("only 2 of the 3 nodes needed: c: its command got SIGTERM; waiting"));
  part(h, 2);
  h.join(h.offer("d"));
  CHECK(h.group == Nodes{0, 1, 3});
}

TEST_CASE("as torchrun: without a restart left only a group that may shrink survives a departure") {
  JobSpec spec = open_spec(3, 3);
  spec.compat = true;
  spec.restart.max_restarts = 0;
  SUBCASE("it may not") {
    Harness h = three(spec);
    leave(h, 2);
    CHECK(h.all<StopWorkers>().size() == 3);
    h.all_gone();
    CHECK(h.text(Rule::kBudgetExhausted) ==
          "no restart: only 2 of the 3 nodes needed: c: its command got SIGTERM, and "
          "none is left (--max-restarts)");
    CHECK(h.exit_code() == 1);
  }
  SUBCASE("it may") {
    spec.group.min_nodes = 1;
    Harness h = three(spec);
    leave(h, 2);
    end_attempt_without(h, 2);
    h.begin();
    CHECK(h.group == Nodes{0, 1});
  }
}

// A worker that loses a peer often reports it before the loss of the peer's machine is noticed.
TEST_CASE("peers that fail of a machine's loss are not to blame, also when they are heard first") {
  JobSpec spec = open_spec(1, 3);
  spec.policy = full_policy();
  spec.faults = {row_of("lost its peer", Layer::kUnclear, Confidence::kLow, FirstAction::kCheck)};
  spec.faults.front().sequel = true;
  for (const bool leaves : {false, true}) {
    CAPTURE(leaves);
    Harness h = three(spec);
    for (std::uint32_t round = 0; round < 2; ++round) {
      const std::uint32_t node = h.group.back();
      h.tell_exit(says(h.job.attempt().value, 0, "lost its peer"));
      CHECK(h.decided(Rule::kWorkerFailed));
      h.all_gone_but(node);
      if (leaves) {
        leave(h, node);
        CHECK(h.decided(Rule::kNodeLeft));
        part(h, node);
      } else {
        h.lose(node, "its connection broke", false);
        CHECK(h.text(Rule::kAgentLost).ends_with("its connection broke"));
      }
      CHECK(h.text(Rule::kRestart).starts_with("free restart"));
      CHECK_FALSE(h.decided(Rule::kStopTimeCheck));  // it is clear what failed
      if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
      while (h.job.state() == JobState::kJoining) h.fire(TimerId::kState);
      h.begin();
    }
    CHECK(h.group == Nodes{0});
  }
}

TEST_CASE("what a peer fails of behind the last word of a machine that was lost is not its own") {
  JobSpec spec = open_spec(1, 3);
  spec.policy = full_policy();
  spec.faults = {row_of("odd", Layer::kUnclear, Confidence::kMedium, FirstAction::kCheck),
                 row_of("bug", Layer::kUserCode, Confidence::kHigh, FirstAction::kRestart)};
  struct Case {
    const char* line;
    std::uint32_t rank;
    Nanos silent;
    bool is_free;
  };
  const Case cases[] = {{"odd", 0, seconds(4), true},
                        {"no such row", 0, seconds(4), true},
                        {"bug", 0, seconds(4), false},  // it says itself what it is
                        {"odd", 0, seconds(1), false},  // the machine lived longer
                        {"odd", 2, seconds(4), false}};  // it is the machine's own worker
  for (const Case& one : cases) {
    CAPTURE(one.line);
    CAPTURE(one.silent.count());
    Harness h = three(spec);
    h.now += seconds(10);
    h.tell_exit(says(0, one.rank, one.line));
    h.all_gone_but(2);
    h.now += seconds(3);
    h.tell(AgentLost{"it said nothing", false, one.silent}, 2);
    const bool is_free = h.text(Rule::kRestart).starts_with("free restart");
    CHECK(is_free == one.is_free);
  }
}

TEST_CASE("a node that comes back after a loss is taken in at once; further ones after a wait") {
  JobSpec spec = open_spec(1, 4);
  Harness h(spec);
  for (const char* name : {"a", "b"}) h.join(h.offer(name));
  h.fire(TimerId::kState);
  h.begin();
  h.lose(1);
  h.all_gone_but(1);
  while (h.job.state() == JobState::kJoining) h.fire(TimerId::kState);
  h.begin();
  const auto grows_by = [&h](const char* name, Nanos after) {
    const Nanos began = h.now;
    h.join(h.offer(name));
    if (after > Nanos{}) {
      CHECK(h.job.state() == JobState::kRunning);
      h.fire(TimerId::kUptime);
    }
    CHECK(h.now - began == after);
    CHECK(h.decided(Rule::kGroupGrew));
    h.all_gone();
    if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
    while (h.job.state() == JobState::kJoining) h.fire(TimerId::kState);
    h.begin();
  };
  grows_by("c", seconds(0));
  SUBCASE("without progress") {
    grows_by("d", seconds(10));
    grows_by("e", seconds(20));
    CHECK(h.group.size() == 4);
  }
  SUBCASE("with progress between them") {
    h.first_step();
    grows_by("d", seconds(0));
  }
  SUBCASE("with a loss between them") {
    h.lose(2);
    h.all_gone_but(2);
    if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
    while (h.job.state() == JobState::kJoining) h.fire(TimerId::kState);
    h.begin();
    grows_by("d", seconds(0));
  }
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_departure_test
