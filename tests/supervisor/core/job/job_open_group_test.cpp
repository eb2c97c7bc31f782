// Open groups: nodes that come by themselves (rendezvous).
#include <doctest/doctest.h>

#include "supervisor/core/job/job.h"
#include "supervisor/core/types/limits.h"
#include "tests/supervisor/job_harness.h"

namespace robustrun::supervisor::test::job_open_group_test {
namespace {

using Nodes = std::vector<std::uint32_t>;

void offer_and_join(Harness& h, const std::string& name) { h.join(h.offer(name)); }

TEST_CASE("an open group begins at once when it is as large as it may be") {
  Harness h(open_spec(1, 2));
  CHECK(h.job.state() == JobState::kJoining);
  CHECK(h.offer("a") == 0);
  REQUIRE(h.all<LaunchAgent>().size() == 1);
  CHECK(h.all<LaunchAgent>().front().generation.value == 1);
  CHECK(h.offer("b") == 1);
  h.join(0);
  CHECK(h.job.state() == JobState::kJoining);
  h.join(1);
  CHECK(h.group == Nodes{0, 1});
  h.begin();
}

TEST_CASE("with enough nodes for less, others are called for a last time") {
  Harness h(open_spec(2, 3));
  offer_and_join(h, "a");
  h.now += seconds(100);
  offer_and_join(h, "b");
  const Nanos enough_at = h.now;
  SUBCASE("no more nodes come") {
    h.fire(TimerId::kState);
    CHECK(h.now - enough_at == seconds(30));
    CHECK(h.group == Nodes{0, 1});
    CHECK(h.job.state() == JobState::kReserving);
  }
  SUBCASE("a node comes") {
    h.now += seconds(20);
    offer_and_join(h, "c");
    CHECK(h.group.size() == 3);
  }
  SUBCASE("a node leaves: from the beginning") {
    h.lose(1);
    CHECK(h.all<LaunchAgent>().empty());
    h.now += seconds(20);
    offer_and_join(h, "b");
    h.fire(TimerId::kState);
    CHECK(h.now - enough_at == seconds(50));
    CHECK(h.group == Nodes{0, 2});
  }
}

TEST_CASE("ranks go by what users asked for, then by names") {
  Harness h(open_spec(4, 4));
  h.join(h.offer("node10"));
  h.join(h.offer("node9"));
  h.join(h.offer("zeta", 1));
  h.join(h.offer("omega", 0));
  CHECK(h.group == Nodes{3, 2, 1, 0});
}

TEST_CASE("a node that joins a complete group is a spare, and takes a lost node's place") {
  Harness h(open_spec(2, 2));
  offer_and_join(h, "b");
  offer_and_join(h, "a");
  h.begin();
  CHECK(h.group == Nodes{1, 0});
  offer_and_join(h, "0");
  CHECK(h.decided(Rule::kSpareChanged));
  CHECK(h.job.state() == JobState::kRunning);
  h.lose(0, "gone home");
  CHECK(h.all<LaunchAgent>().empty());
  h.gone(1);
  CHECK(h.text(Rule::kNodeReplaced) == "0 takes the place of b (gone home)");
  CHECK(h.group == Nodes{1, 2});
}

TEST_CASE("volunteers that were lost are never launched again") {
  Harness h(open_spec(1, 2));
  offer_and_join(h, "a");
  offer_and_join(h, "b");
  h.begin();
  h.lose(1);
  CHECK(h.all<LaunchAgent>().empty());
  h.gone(0);
  h.fire(TimerId::kState);
  CHECK(h.decided(Rule::kGroupShrunk));
  h.begin();
  h.now += seconds(10000);
  h.tell(TimerFired{TimerId::kNodes, h.timers[static_cast<std::size_t>(TimerId::kNodes)].sequence});
  CHECK(h.all<LaunchAgent>().empty());
  SUBCASE("but a new node may come") {
    offer_and_join(h, "b");
    CHECK(h.decided(Rule::kGroupGrew));
    h.all_gone();
    CHECK(h.group == Nodes{0, 2});
  }
}

TEST_CASE("several times in a row, the restart without a lost volunteer comes soon") {
  Harness h(open_spec(1, 2));
  offer_and_join(h, "a");
  offer_and_join(h, "b");
  h.begin();
  for (std::uint32_t losses = 1; losses <= kLostVolunteerWaits; ++losses) {
    const Nanos lost_at = h.now;
    h.lose(losses);
    h.gone(0);
    offer_and_join(h, "b");
    if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
    CHECK(h.now - lost_at <= kLostVolunteerWaitMax);
    CHECK(h.group == Nodes{0, losses + 1});
    h.begin();
  }
  // A failing script waits as long as ever.
  h.tell_exit(exited(h.job.attempt().value, 0, 1));
  h.all_gone();
  REQUIRE(h.job.state() == JobState::kBackoff);
  CHECK(h.timers[static_cast<std::size_t>(TimerId::kBackoff)].at - h.now > kLostVolunteerWaitMax);
}

TEST_CASE("a volunteer that does not stop its workers is dismissed") {
  Harness h(open_spec(1, 2));
  offer_and_join(h, "a");
  offer_and_join(h, "b");
  h.begin();
  h.tell_exit(exited(0, 0, 1));
  h.gone(0);
  h.fire(TimerId::kState);
  CHECK(h.all<LaunchAgent>().empty());
  REQUIRE(h.all<DismissAgent>().size() == 1);
  CHECK(h.all<DismissAgent>().front().node.value == 1);
}

TEST_CASE("an open group without enough nodes waits, then ends with 94") {
  Harness h(open_spec(2, 3));
  const Nanos since = h.now;
  SUBCASE("at the start") {
    offer_and_join(h, "a");
    while (h.job.state() == JobState::kJoining) h.fire(TimerId::kState);
    CHECK(h.now - since == seconds(600));
    CHECK(h.text(Rule::kInfrastructureGivenUp) == "only 1 of the 2 nodes needed");
  }
  SUBCASE("no node at all") {
    while (h.job.state() == JobState::kJoining) h.fire(TimerId::kState);
    CHECK(h.now - since == seconds(600));
    CHECK(h.text(Rule::kInfrastructureGivenUp) == "only 0 of the 2 nodes needed");
  }
  SUBCASE("later") {
    offer_and_join(h, "a");
    offer_and_join(h, "b");
    h.fire(TimerId::kState);
    h.begin();
    h.lose(1, "gone home");
    h.gone(0);
    CHECK(h.text(Rule::kWaitForNodes) ==
          "only 1 of the 2 nodes needed: b: gone home; waiting for more, at most "
          "600 s");
    const Nanos waits_since = h.now;
    while (h.job.state() == JobState::kJoining) h.fire(TimerId::kState);
    CHECK(h.now - waits_since == seconds(600));
  }
  CHECK(h.exit_code() == 94);
}

TEST_CASE("offers to a closed group are ignored in every state") {
  Harness h(make_spec({1, 1}));
  const auto ignores = [&h] {
    const std::uint64_t before = h.job.digest();
    h.tell(NodeOffered{{"c", "10.0.0.9", 1, true}});
    CHECK(h.actions.empty());
    CHECK(h.job.digest() == before);
  };
  ignores();
  h.join_all();
  ignores();
  h.begin();
  ignores();
  h.lose(1);
  ignores();
}

TEST_CASE("a closed group takes the nodes that the scheduler gives in place of lost ones") {
  JobSpec spec = make_spec({2, 2});
  spec.group = {1, 2};
  spec.group.replace = 1;
  Harness h(spec);
  h.run();
  CHECK(h.job.works({1}));
  h.first_step();
  h.lose_machine(1);
  CHECK_FALSE(h.job.works({1}));
  CHECK_FALSE(h.job.works({2}));
  if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
  while (h.job.state() == JobState::kJoining) h.fire(TimerId::kState);
  h.begin();
  CHECK(h.group == std::vector<std::uint32_t>{0});
  h.first_step();
  const std::uint32_t given = h.offer("c", {}, 2);
  CHECK(given == 2);
  h.join(given);
  CHECK(h.job.works({given}));
  h.all_gone();
  if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
  CHECK(h.group == std::vector<std::uint32_t>{0, given});
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_open_group_test
