// Copies in the memory of other nodes: which nodes keep them, and what becomes of those of nodes
// that are lost.
#include <doctest/doctest.h>

#include <csignal>

#include "supervisor/core/status/fold.h"
#include "supervisor/core/types/limits.h"
#include "tests/supervisor/core/job/copied_job.h"

namespace robustrun::supervisor::test::job_copies_test {
namespace {

using namespace std::chrono_literals;

std::vector<std::uint32_t> nodes_of(const std::vector<CopyRoute>& routes) {
  std::vector<std::uint32_t> nodes;
  for (const CopyRoute& route : routes) nodes.push_back(route.node.value);
  return nodes;
}

using Nodes = std::vector<std::uint32_t>;

TEST_CASE("each node learns the keeper of its copies, and whose it keeps, before workers start") {
  Copied h;
  REQUIRE(h.job.state() == JobState::kReserving);
  REQUIRE(h.question.places.size() == 3);
  CHECK(h.question.places[2].slots == 2);
  CHECK(h.question.former.empty());
  CHECK(h.question.evictable.size() == 5);
  h.answer({1, 2, 0});
  CHECK(h.actions.empty());  // no worker makes copies yet
  h.reserve();
  std::size_t first_start = 0;
  while (!std::holds_alternative<StartWorkers>(h.actions[first_start])) ++first_start;
  for (std::size_t i = first_start; i < h.actions.size(); ++i) {
    CHECK_FALSE(std::holds_alternative<PlaceCopies>(h.actions[i]));
  }
  h.placed = h.all<PlaceCopies>();
  REQUIRE(h.placed.size() == 3);
  const PlaceCopies& one = h.placed_on(1);
  CHECK(one.attempt == h.job.attempt());
  CHECK(nodes_of(one.send) == Nodes{2, 2});
  CHECK(one.send[0].rank == base::Rank{2});
  CHECK(one.send[0].endpoint == Copied::endpoint(2));
  CHECK(one.send[0].generation == base::Generation{1});
  CHECK(nodes_of(one.hold) == Nodes{0, 0});
  CHECK(one.hold[1].rank == base::Rank{1});
  CHECK(one.fetch.empty());
}

TEST_CASE("the map is reported once workers make copies, and not again at every restart") {
  Copied h;
  h.start();
  h.keep(0);
  CHECK(h.text(Rule::kCopiesPlaced) == "copies in memory are kept by another node");
  CHECK(h.evidence(Rule::kCopiesPlaced) ==
        std::vector<std::string>{"of node0 by node1", "of node1 by node2", "of node2 by node0"});
  h.keep(1);
  CHECK(h.actions.empty());
  h.tell_exit(says(0, 3, "odd"));
  h.all_gone();
  CHECK(h.all<SaveHeldCopies>().empty());  // every node is still there
  if (h.job.state() == JobState::kChecking) return;
  CHECK(h.all<SolveBackup>().empty());  // the group is the same
}

TEST_CASE("no map for one node, for nodes that cannot be reached, nor by a wrong answer") {
  Copied one(policy_spec({2}, 1, 1));
  CHECK(one.question.places.empty());
  Copied silent(policy_spec({1, 1}, 2, 2), false);
  REQUIRE(silent.job.state() == JobState::kReserving);
  CHECK(silent.question.places.empty());
  silent.reserve();
  CHECK(silent.all<PlaceCopies>().empty());
  for (const auto& wrong :
       {Nodes{1, 2, 1}, Nodes{0, 2, 1}, Nodes{1, 0}, Nodes{1, 2, 3}, Nodes{1, 2, 0, 3}}) {
    Copied h;
    h.answer(wrong);
    h.reserve();
    CHECK(h.all<PlaceCopies>().empty());
    CHECK(h.job.state() == JobState::kStarting);
  }
  Copied other;
  other.tell(BackupSolved{other.question.digest + 1, {1, 2, 0}, "of another group", false});
  other.reserve();
  CHECK(other.all<PlaceCopies>().empty());
}

TEST_CASE("an answer that comes after the start is passed on then") {
  Copied h;
  h.reserve();
  CHECK(h.all<PlaceCopies>().empty());
  h.start_all();
  h.answer({2, 0, 1});
  CHECK(h.all<PlaceCopies>().size() == 3);
  CHECK(nodes_of(h.all<PlaceCopies>()[0].send) == Nodes{2, 2});
  h.answer({1, 2, 0});  // said twice
  CHECK(h.actions.empty());
}

TEST_CASE("what a lost node's keeper holds is saved before the next attempt, and fetched in it") {
  Copied h;
  h.start();
  h.keep_all();
  h.lose(1, "no power", false);
  CHECK(h.all<SaveHeldCopies>().empty());  // workers still run elsewhere
  h.gone(0);
  h.gone(2);
  const auto orders = h.all<SaveHeldCopies>();
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].node == base::NodeId{2});
  CHECK(orders[0].attempt == base::Attempt{0});
  CHECK(orders[0].ranks == std::vector<base::Rank>{{2}, {3}});
  REQUIRE(h.job.state() == JobState::kBackoff);
  h.saved(0, orders[0].order, 2);  // it was not asked
  h.saved(2, orders[0].order + 1, 2);
  CHECK(h.actions.empty());
  h.now += 2s;
  h.saved(2, orders[0].order, 2);
  CHECK(h.text(Rule::kCopiesSaved) ==
        "the copies of node1 in the memory of node2 were saved: 2 copies of 2 ranks");
  REQUIRE(h.job.state() == JobState::kReserving);  // the spare is there
  REQUIRE(h.all<SolveBackup>().size() == 1);
  CHECK(h.all<SolveBackup>()[0].former == Nodes{1, 2, 0});
  h.reserve();  // before the answer: the node that replaces n1 has its arcs
  h.placed = h.all<PlaceCopies>();
  CHECK(nodes_of(h.placed_on(0).send) == Nodes{3, 3});
  CHECK(nodes_of(h.placed_on(3).send) == Nodes{2, 2});
  CHECK(nodes_of(h.placed_on(3).hold) == Nodes{0, 0});
  CHECK(nodes_of(h.placed_on(3).fetch) == Nodes{2, 2});
  CHECK(h.placed_on(3).fetch[0].rank == base::Rank{2});
  CHECK(nodes_of(h.placed_on(2).hold) == Nodes{3, 3});
  CHECK(h.placed_on(0).fetch.empty());
}

TEST_CASE("another keeper than before holds what is fetched from the old one, too") {
  Copied h;
  h.start();
  h.keep_all();
  h.lose_machine(1);
  h.saved(2, h.all<SaveHeldCopies>()[0].order, 2);
  h.question = h.all<SolveBackup>()[0];
  h.answer({2, 0, 1});  // places: n0, n3, n2
  h.reserve();
  h.placed = h.all<PlaceCopies>();
  CHECK(nodes_of(h.placed_on(3).send) == Nodes{0, 0});
  CHECK(nodes_of(h.placed_on(3).fetch) == Nodes{2, 2});
  CHECK(nodes_of(h.placed_on(2).hold) == Nodes{0, 0, 3, 3});
}

TEST_CASE("the next attempt does not wait longer than the limit, and says so") {
  Copied h;
  h.start();
  h.keep_all();
  h.lose_machine(1);
  REQUIRE(h.job.state() == JobState::kBackoff);
  const base::Nanos lost = h.now;
  h.fire(TimerId::kBackoff);
  CHECK(h.now - lost == kHeldSaveMax);
  CHECK(h.text(Rule::kCopiesLost) ==
        "the copies of node1 in the memory of node2 were not saved (node2: no answer in time); "
        "using the newest committed checkpoint");
  CHECK(h.job.state() != JobState::kBackoff);
  h.saved(2, 1, 2);  // too late
  CHECK(h.actions.empty());
}

TEST_CASE("an error is reported, with the checkpoint that is used instead") {
  Copied h;
  h.start();
  h.keep_all();
  CheckpointNoted committed{
      h.job.attempt(), CheckpointNoted::What::kCommitted, {80, 1, "ab"}, {}, {}};
  h.tell(committed, 0);
  h.lose_machine(1);
  h.saved(2, 1, 0, {"disk full"});
  CHECK(h.text(Rule::kCopiesLost) ==
        "the copies of node1 in the memory of node2 were not saved (node2: disk full); using the "
        "newest committed checkpoint, of step 80 (g1-ab)");
  Copied half;
  half.start();
  half.keep_all();
  half.lose_machine(1);
  half.saved(2, 1, 1, {"disk full"});
  CHECK(
      half.text(Rule::kCopiesSaved) ==
      "the copies of node1 in the memory of node2 were saved: 1 copy of 2 ranks, not all of them");
  Copied before;
  before.start();
  before.keep_all();
  before.lose_machine(1);
  before.saved(2, 1, 0);
  CHECK(before.text(Rule::kCopiesSaved) ==
        "the copies of node1 in the memory of node2 were on disk already");
}

TEST_CASE("copies whose keeper is lost too are gone, and the run does not wait for them") {
  Copied h(policy_spec({1, 1, 1, 1, 1, 1}, 4, 4));
  h.answer({1, 2, 3, 0});
  h.reserve();
  h.start_all();
  h.keep_all();
  h.lose(1, "no power", false);
  h.lose(2, "no power", false);
  h.gone(0);
  h.gone(3);
  CHECK(h.text(Rule::kCopiesLost) ==
        "the copies in memory of node1 are lost with node2, which kept them: using the newest "
        "committed checkpoint");
  const auto orders = h.all<SaveHeldCopies>();  // of n2 by n3
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].node == base::NodeId{3});
  CHECK(orders[0].ranks == std::vector<base::Rank>{{2}});
}

TEST_CASE("a keeper that is started anew has nothing: its memory ended with its agent") {
  Copied h;
  h.start();
  h.keep_all();
  h.lose(2);  // its machine answers: another agent is started in place
  h.meet(2);
  h.lose(1, "no power", false);
  h.gone(0);
  REQUIRE(h.all<SaveHeldCopies>().size() == 1);  // of n2 by n0
  CHECK(h.all<SaveHeldCopies>()[0].node == base::NodeId{0});
  CHECK(h.text(Rule::kCopiesLost).starts_with("the copies in memory of node1 are lost with node2"));
}

TEST_CASE("a node whose copies were on no other node is reported lost with them") {
  Copied h;
  h.start();
  h.keep(1, false);
  h.lose_machine(1);
  CHECK(h.all<SaveHeldCopies>().empty());
  CHECK(h.text(Rule::kCopiesLost) ==
        "the copies in memory of node1 are lost with it, as no other node has any yet: using "
        "the newest committed checkpoint");
  Copied none;
  none.start();
  none.lose_machine(1);
  CHECK_FALSE(none.decided(Rule::kCopiesLost));  // it made none
  CHECK(none.all<SaveHeldCopies>().empty());
}

TEST_CASE("a keeper that is lost while it saves is not waited for") {
  Copied h;
  h.start();
  h.keep_all();
  h.lose_machine(1);
  REQUIRE(h.job.state() == JobState::kBackoff);
  h.now += 1s;
  h.lose(2, "no power", false);
  // What n2 had itself lies with n0.
  REQUIRE(h.all<SaveHeldCopies>().size() == 1);
  CHECK(h.all<SaveHeldCopies>()[0].node == base::NodeId{0});
  REQUIRE(h.job.state() == JobState::kBackoff);
  h.saved(0, h.all<SaveHeldCopies>()[0].order, 2);
  CHECK(h.text(Rule::kCopiesSaved) ==
        "the copies of node1 and node2 in the memory of node2 and node0 were saved: 2 copies of 4 "
        "ranks, not all of them");
  CHECK(h.job.state() != JobState::kBackoff);
}

TEST_CASE("what a node had of the attempt before counts until its successor tells of copies") {
  Copied h;
  h.start();
  h.keep_all();
  h.lose_machine(1);
  h.saved(2, 1, 2);
  h.begin();
  CHECK(h.all<SaveHeldCopies>().empty());
  h.keep(3, false);  // it fetched them: its keeper has them still
  h.lose_machine(3);
  REQUIRE(h.all<SaveHeldCopies>().size() == 1);
  CHECK(h.all<SaveHeldCopies>()[0].node == base::NodeId{2});
  CHECK(h.all<SaveHeldCopies>()[0].attempt == base::Attempt{1});
}

TEST_CASE("a run that ends has what lost nodes' keepers hold saved, too") {
  JobSpec spec = policy_spec({2, 2, 2, 2}, 3, 3);
  spec.restart.max_infrastructure_restarts = 0;
  Copied h(std::move(spec));
  h.start();
  h.keep_all();
  h.lose_machine(1);
  CHECK(h.job.state() == JobState::kFinished);
  CHECK(h.all<SaveHeldCopies>().size() == 1);
}

TEST_CASE("so it does if it is told to end, before a node is lost or after") {
  Copied h;
  h.start();
  h.keep_all();
  bool signal_first = true;
  SUBCASE("before") {}
  SUBCASE("after") { signal_first = false; }
  if (signal_first) h.tell(SignalReceived{SIGTERM, false});
  h.lose(1, "no power", false);
  if (!signal_first) h.tell(SignalReceived{SIGTERM, false});
  CHECK(h.all<SaveHeldCopies>().empty());  // workers still run elsewhere
  h.gone(0);
  h.gone(2);
  REQUIRE(h.job.state() == JobState::kFinished);
  const auto orders = h.all<SaveHeldCopies>();
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].node == base::NodeId{2});
  CHECK(orders[0].ranks == std::vector<base::Rank>{{2}, {3}});
  std::size_t save = 0;
  std::size_t dismissal = 0;
  while (!std::holds_alternative<SaveHeldCopies>(h.actions[save])) ++save;
  while (!std::holds_alternative<DismissAgent>(h.actions[dismissal])) ++dismissal;
  CHECK(save < dismissal);
}

TEST_CASE("a slow machine stays until every rank has a copy elsewhere, but not for ever") {
  const auto accused = [](Copied& h) {
    h.start();
    h.keep_all();
    h.keep(2, false);
    h.first_step();
    h.now += 60s;
    Diagnosed look{h.job.attempt(), Diagnosed::Stage::kSuspected, {}, 700ms, 500ms, 200ms};
    look.verdict.finding = tracer::Finding::kSlowRank;
    look.verdict.culprits = {{0}};
    look.verdict.sentence = "the others wait for rank 0";
    h.tell(look);
    look.stage = Diagnosed::Stage::kRound;
    for (int i = 1; i < 5; ++i) {
      h.fire(TimerId::kSlow);
      h.tell(look);
    }
    REQUIRE(h.decided(Rule::kSlowDrain));
    for (int i = 0; i < 20 && !h.decided(Rule::kCopiesAwaited); ++i) h.fire(TimerId::kSlow);
    REQUIRE(h.job.state() == JobState::kRunning);
  };
  JobSpec spec = policy_spec({2, 2, 2, 2}, 3, 3);
  spec.policy.slow.assumed_price = 5min;
  Copied h(spec);
  accused(h);
  CHECK(
      h.text(Rule::kCopiesAwaited) ==
      "node0 is not replaced yet: 2 ranks have no copy in the memory of another node (rank 4, …); "
      "waiting for one, at most 2 min 00 s");
  h.fire(TimerId::kSlow);
  CHECK(h.all<Decision>().empty());
  h.keep(2);
  h.fire(TimerId::kSlow);
  CHECK(h.decided(Rule::kSlowEvicted));
  Copied never(spec);
  accused(never);
  const base::Nanos since = never.now;
  while (never.job.state() == JobState::kRunning) never.fire(TimerId::kSlow);
  CHECK(never.now - since == kUnsecuredMax);
  CHECK(
      never.text(Rule::kCopiesAwaited).starts_with("node0 is replaced all the same: 2 ranks have"));
}

TEST_CASE("a supervisor that takes over orders again what may not have been done") {
  const auto take_over = [](Copied& h) {
    std::vector<JournalEntry> entries;
    for (const Event& event : h.journal) entries.push_back({event.at, event});
    auto folded = fold(entries);
    REQUIRE(folded.has_value());
    CHECK(folded->job.digest() == h.job.digest());
    h.job = std::move(folded->job);
    h.tell(SupervisorResumed{2, "other", 7, {}, 1s});
  };
  Copied asking;
  take_over(asking);
  CHECK(asking.all<SolveBackup>().size() == 1);
  Copied running;
  running.start();
  running.keep_all();
  take_over(running);
  CHECK(running.all<PlaceCopies>().size() == 3);
  CHECK(running.all<SolveBackup>().empty());
  running.lose_machine(1);
  take_over(running);
  REQUIRE(running.all<SaveHeldCopies>().size() == 1);
  running.saved(2, running.all<SaveHeldCopies>()[0].order, 2);
  CHECK(running.decided(Rule::kCopiesSaved));
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_copies_test
