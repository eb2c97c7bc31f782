// Which nodes a question is about when the group changes, and what an answer must not do.
#include <doctest/doctest.h>

#include <csignal>

#include "base/core/clock.h"
#include "tests/supervisor/core/job/placement_words.h"
#include "tests/supervisor/preflight_facts.h"

namespace robustrun::supervisor::test::job_placement_group_test {
namespace {

TEST_CASE("a group that shrinks is closed up, and then asked for") {
  Harness h = running(PlacementUse::kSurvivorsStay, 2);
  h.lose(1, "no power", false);
  h.lose(3, "no power", false);
  h.lose_machine(0);
  const SolvePlacement asked = question(h);
  CHECK(asked.places == 2);
  CHECK(ids(asked.former) == Nodes{4, 2});
  h.tell(answer(asked, {4, 2}));
  CHECK(h.decided(Rule::kGroupShrunk));
  CHECK(h.group == Nodes{4, 2});
  SUBCASE("and one that grows gets its new places filled") {
    h.begin();
    h.now += std::chrono::hours(1);
    h.first_step();
    h.fire(TimerId::kNodes);
    h.join(3);
    h.all_gone();
    if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
    const SolvePlacement larger = question(h);
    CHECK(ids(larger.former) == Nodes{4, 2, kNoNode.value});
    CHECK(larger.places == 3);
    h.tell(answer(larger, {4, 2, 3}));
    CHECK(h.group == Nodes{4, 2, 3});
  }
}

TEST_CASE("a node that failed earlier runs is no candidate while there are others") {
  JobSpec spec = placed_spec({2, 2, 2, 2}, 2, 2);
  spec.nodes[2].is_offender = true;
  Harness h(spec);
  h.join_all();
  CHECK(ids(question(h).candidates) == Nodes{0, 1, 3});
}

TEST_CASE("a spare of the same size is taken, so that ranks stay; one of another size if need be") {
  Harness h(placed_spec({2, 2, 1, 2, 2}, 2, 2));
  h.join_all();
  place(h, {0, 1});
  h.begin();
  h.lose_machine(0);
  CHECK(ids(question(h).candidates) == Nodes{1, 3, 4});
  SUBCASE("an answer of another size is of no use") {
    place(h, {2, 1});
    CHECK(h.text(Rule::kNotPlaced).find("ranks would move behind node2") != std::string::npos);
    CHECK(h.group == Nodes{3, 1});
  }
  SUBCASE("unless there is no other") {
    h.lose(3, "no power", false);
    h.lose(4, "no power", false);
    CHECK(ids(question(h).candidates) == Nodes{1, 2});
    place(h, {2, 1});
    CHECK(h.group == Nodes{2, 1});
  }
}

TEST_CASE("a node that was lost again and again is no candidate while there are others") {
  Harness h = running();
  h.lose(1);
  h.join(1);
  h.lose(1);
  h.fire(TimerId::kNodes);
  h.join(1);
  h.lose_machine(0);
  CHECK(ids(question(h).candidates) == Nodes{2, 3, 4});
  h.lose(3, "no power", false);
  CHECK(ids(question(h).candidates) == Nodes{2, 4, 1});
}

TEST_CASE("another supervisor asks the same question again") {
  Harness h = running();
  h.lose_machine(0);
  const SolvePlacement asked = question(h);
  h.tell(SupervisorResumed{2, "other", 7, {}, {}});
  CHECK(question(h).digest == asked.digest);
  h.tell(answer(asked, {4, 3, 2}));
  CHECK(h.group == Nodes{4, 3, 2});
}

TEST_CASE("a signal ends the run in the middle of it") {
  Harness h = running();
  h.lose_machine(0);
  question(h);
  h.tell(SignalReceived{SIGTERM, false});
  CHECK(h.exit_code() == 128 + SIGTERM);
}

TEST_CASE("only nodes that were found fit are candidates") {
  JobSpec spec = placed_spec({1, 1, 1, 1}, 2, 2);
  spec.preflight = PreflightDepth::kFast;
  Harness h(spec);
  h.join(0);
  h.join(1);
  h.join(2);
  h.fire(TimerId::kState);
  REQUIRE(h.job.state() == JobState::kChecking);
  NodesChecked checked = all_healthy(3);
  checked.nodes[1].facts.missing = "no script";
  h.join(3);
  h.tell(checked);
  CHECK(ids(question(h).candidates) == Nodes{0, 2});
  place(h, {2, 0});
  CHECK(h.group == Nodes{2, 0});
  CHECK(h.all<CheckNodes>()[0].nodes[1].value == 3);  // now, as a spare
}

TEST_CASE("node ranks that users asked for beat the topology") {
  JobSpec spec = open_spec(2, 2);
  spec.placement = PlacementUse::kSurvivorsStay;
  Harness h(spec);
  h.join(h.offer("b", 0));
  h.join(h.offer("a"));
  CHECK(h.job.state() == JobState::kReserving);
  CHECK(h.group == Nodes{0, 1});
}

TEST_CASE("an open group asks in the order of names, and answers are not sorted again") {
  JobSpec spec = open_spec(2, 2);
  spec.placement = PlacementUse::kSurvivorsStay;
  Harness h(spec);
  h.join(h.offer("b"));
  h.join(h.offer("a"));
  CHECK(ids(question(h).candidates) == Nodes{1, 0});
  place(h, {0, 1});
  CHECK(h.group == Nodes{0, 1});
}

// Whatever the answers, and whatever nodes are lost.
TEST_CASE("no survivor moves unless that is allowed") {
  base::Rng dice(20260117);
  int placed = 0, refused = 0;
  for (int run = 0; run < 300; ++run) {
    const auto slots = static_cast<std::uint32_t>(1 + dice.below(2));
    std::vector<std::uint32_t> sizes;
    for (int i = 0; i < 8; ++i) {
      sizes.push_back(run % 2 == 0 ? slots : static_cast<std::uint32_t>(1 + dice.below(2)));
    }
    Harness h(placed_spec(sizes, 4, 4));
    h.join_all();
    place(h, {7, 1, 4, 2});
    for (std::uint32_t attempt = 0; attempt < 3; ++attempt) {
      h.begin();
      h.first_step();
      const Nodes before = h.group, ranks_before = h.node_of;
      const std::uint32_t lost = h.group[dice.below(4)];
      h.lose_machine(lost);
      const SolvePlacement asked = question(h);
      Nodes members = before;
      for (std::uint32_t& member : members) {
        const bool is_wild = dice.below(8) == 0;
        if (member != lost && !is_wild) continue;
        member = asked.candidates[dice.below(asked.candidates.size())].node.value;
      }
      h.tell(answer(asked, members));
      ++(h.decided(Rule::kPlaced) ? placed : refused);
      const bool same_sizes =
          sizes[lost] == sizes[h.group[static_cast<std::size_t>(std::ranges::find(before, lost) -
                                                                before.begin())]];
      CAPTURE(run);
      for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i] != lost) CHECK(h.group[i] == before[i]);
      }
      for (std::size_t rank = 0; same_sizes && rank < ranks_before.size(); ++rank) {
        if (ranks_before[rank] != lost) CHECK(h.node_of[rank] == ranks_before[rank]);
      }
    }
  }
  CHECK(placed > 100);
  CHECK(refused > 100);
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_placement_group_test
