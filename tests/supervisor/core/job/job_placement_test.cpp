// Groups whose places are computed from the network's topology.
#include <doctest/doctest.h>

#include "supervisor/core/types/limits.h"
#include "tests/supervisor/core/job/placement_words.h"

namespace robustrun::supervisor::test::job_placement_test {
namespace {

TEST_CASE("the first group is asked for among all that are there, and formed as answered") {
  Harness h(placed_spec({2, 1, 2, 2}, 3, 3));
  h.join(0);
  h.join(1);
  h.join(2);
  CHECK(h.job.state() == JobState::kJoining);  // the fourth is a candidate, too
  h.join(3);
  const SolvePlacement asked = question(h);
  CHECK(asked.former.empty());
  CHECK(ids(asked.candidates) == Nodes{0, 1, 2, 3});
  CHECK(asked.candidates[1].slots == 1);
  CHECK(asked.candidates[1].name == "node1");
  CHECK(asked.places == 3);
  CHECK(h.all<ReservePort>().empty());
  h.tell(answer(asked, {3, 1, 0}));
  CHECK(h.group == Nodes{3, 1, 0});
  CHECK(h.text(Rule::kPlaced) == "so it is best");
  CHECK(h.evidence(Rule::kPlaced) == std::vector<std::string>{"dp: 2"});
  CHECK(h.all<GroupFormed>()[0].spares == std::vector<std::string>{"node2"});
  CHECK(h.all<ReservePort>()[0].node.value == 3);
  h.begin();
  CHECK(h.node_of == Nodes{3, 3, 1, 0, 0});
}

TEST_CASE("a node that does not come is not waited for longer than a spare would be") {
  Harness h(placed_spec({1, 1, 1}, 2, 2));
  h.join(0);
  h.join(1);
  const Nanos since = h.now;
  h.fire(TimerId::kState);
  CHECK(h.now - since == seconds(5));
  CHECK(ids(question(h).candidates) == Nodes{0, 1});
}

TEST_CASE("without a topology nothing is asked") {
  Harness h(placed_spec({1, 1, 1}, 2, 2, PlacementUse::kOff));
  h.join(0);
  h.join(1);
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("a spare takes the place it is given; nodes that are still there stay where they were") {
  Harness h = running();
  h.lose_machine(0);
  const SolvePlacement asked = question(h);
  CHECK(asked.attempt.value == 1);
  CHECK(ids(asked.former) == Nodes{4, 0, 2});
  CHECK(asked.former[1].name == "node0");
  CHECK(ids(asked.candidates) == Nodes{1, 2, 3, 4});
  h.tell(answer(asked, {4, 3, 2}));
  CHECK(h.group == Nodes{4, 3, 2});
  CHECK(h.text(Rule::kNodeReplaced) == "node3 takes the place of node0 (no power)");
  CHECK(h.text(Rule::kPlaced) == "so it is best");
  h.begin();
}

TEST_CASE("a group that stays as it is has nothing to ask, unless survivors may move") {
  const auto use = {PlacementUse::kSurvivorsStay, PlacementUse::kSurvivorsMayMove};
  for (const PlacementUse one : use) {
    Harness h = running(one);
    h.tell_exit(exited(0, 0, 1));
    h.all_gone();
    if (one == PlacementUse::kSurvivorsMayMove) {
      CHECK(ids(question(h).former) == Nodes{4, 0, 2});
      place(h, {4, 0, 2});
      CHECK_FALSE(h.decided(Rule::kPlaced));  // nothing came of it
    }
    CHECK(h.job.state() == JobState::kReserving);
    CHECK(h.group == Nodes{4, 0, 2});
  }
}

TEST_CASE("where survivors may move they do, which is reported") {
  Harness h = running(PlacementUse::kSurvivorsMayMove);
  h.lose_machine(0);
  place(h, {4, 2, 3});
  CHECK(h.group == Nodes{4, 2, 3});
  CHECK(h.text(Rule::kNodeReplaced) ==
        "2 nodes are replaced: node2 takes the place of node0 (no power), …");
  CHECK(h.evidence(Rule::kNodeReplaced)[1] == "node3 takes the place of node2, which moves");
}

TEST_CASE("an answer that cannot be used changes nothing, and the reason is reported") {
  struct Row {
    const char* why;
    Nodes members;
    bool is_first = false;
  };
  const Row rows[] = {
      {"it has 2 nodes for 3 places", {4, 2}},
      {"it has 4 nodes for 3 places", {4, 1, 2, 3}},
      {"node4 has two places in it", {4, 4, 2}},
      {"node0 is not there", {4, 0, 2}},
      {"it names a node that does not exist", {4, 77, 2}},
      {"it names a node that does not exist", {4, 0xffffffff, 2}},
      {"node2 would move", {4, 2, 3}},
      {"node4 would move", {1, 3, 2}},
      {"it has 2 nodes for 3 places", {4, 2}, true},
      {"node3 has two places in it", {3, 0, 3}, true},
  };
  for (const Row& row : rows) {
    Harness h = row.is_first ? Harness(placed_spec({2, 2, 2, 2, 2}, 3, 3)) : running();
    if (row.is_first) {
      h.join_all();
    } else {
      h.lose_machine(0);
    }
    place(h, row.members);
    CHECK(h.text(Rule::kNotPlaced).find(std::string("cannot be used: ") + row.why) !=
          std::string::npos);
    CHECK_FALSE(h.decided(Rule::kPlaced));
    CHECK(h.group == (row.is_first ? Nodes{0, 1, 2} : Nodes{4, 1, 2}));
    CHECK(h.job.state() == JobState::kReserving);
  }
}

TEST_CASE("no answer: the shell says why, and the order is what it is without") {
  Harness h(placed_spec({1, 1, 1}, 2, 2));
  h.join_all();
  PlacementSolved none;
  none.digest = question(h).digest;
  none.text = "2 ranks cannot be divided by tp 3";
  h.tell(none);
  CHECK(h.text(Rule::kNotPlaced) ==
        "nodes are not placed by topology (2 ranks cannot be divided by tp 3); "
        "nodes keep their order");
  CHECK(h.group == Nodes{0, 1});
}

TEST_CASE("an answer that does not come is not waited for for ever, and then comes too late") {
  Harness h = running();
  h.lose_machine(0);
  const SolvePlacement asked = question(h);
  const Nanos since = h.now;
  h.fire(TimerId::kState);
  CHECK(h.now - since == kPlacementMax);
  CHECK(h.text(Rule::kNotPlaced).find("no answer within 5 s") != std::string::npos);
  CHECK(h.group == Nodes{4, 1, 2});
  const std::uint64_t before = h.job.digest();
  h.tell(answer(asked, {4, 3, 2}));
  CHECK(h.actions.empty());
  CHECK(h.job.digest() == before);
}

TEST_CASE("the answer to another question is dropped") {
  Harness h = running();
  h.lose_machine(0);
  const SolvePlacement asked = question(h);
  const std::uint64_t before = h.job.digest();
  SolvePlacement other = asked;
  ++other.digest;
  h.tell(answer(other, {4, 3, 2}));
  CHECK(h.actions.empty());
  CHECK(h.job.digest() == before);
  h.tell(answer(asked, {4, 3, 2}));
  CHECK(h.group == Nodes{4, 3, 2});
}

TEST_CASE("a node that is lost meanwhile makes it another question") {
  Harness h = running();
  h.lose_machine(0);
  const SolvePlacement first = question(h);
  SUBCASE("a spare") {
    h.lose(3, "no power", false);
    const SolvePlacement second = question(h);
    CHECK(second.digest != first.digest);
    CHECK(ids(second.candidates) == Nodes{1, 2, 4});
    h.tell(answer(first, {4, 3, 2}));
    CHECK(h.job.state() == JobState::kPlacing);
    h.tell(answer(second, {4, 1, 2}));
    CHECK(h.group == Nodes{4, 1, 2});
  }
  SUBCASE("a survivor") {
    h.lose(2, "no power", false);
    const SolvePlacement second = question(h);
    CHECK(ids(second.former) == Nodes{4, 0, 2});
    CHECK(ids(second.candidates) == Nodes{1, 3, 4});
    h.tell(answer(second, {4, 3, 1}));
    CHECK(h.group == Nodes{4, 3, 1});
  }
  SUBCASE("too many: missing nodes are waited for, or the run ends") {
    h.lose(1, "no power", false);
    h.lose(3, "no power", false);
    CHECK(h.exit_code() == 94);
  }
}

TEST_CASE("a node that comes meanwhile makes it another question, too") {
  Harness h = running();
  h.lose(0);
  h.all_gone_but(0);
  h.fire(TimerId::kState);  // its new agent is late
  const SolvePlacement first = question(h);
  h.join(0);
  CHECK(h.group == Nodes{4, 0, 2});  // it has its place back: nothing is left to ask
  CHECK(h.job.state() == JobState::kReserving);
  h.tell(answer(first, {4, 3, 2}));
  CHECK(h.actions.empty());
}

TEST_CASE("the loss of a node outside the question changes nothing") {
  Harness h(placed_spec({1, 1, 1}, 2, 2));
  h.join(0);
  h.join(1);
  h.fire(TimerId::kState);
  const SolvePlacement asked = question(h);
  h.lose(2, "cannot be started", false);
  CHECK(h.all<SolvePlacement>().empty());
  CHECK(h.job.state() == JobState::kPlacing);
  h.tell(answer(asked, {1, 0}));
  CHECK(h.group == Nodes{1, 0});
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_placement_test
