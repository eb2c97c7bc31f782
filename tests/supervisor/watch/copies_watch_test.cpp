// Copies in memory, between the agents' words, topo/'s rule and the core.
#include "supervisor/watch/copies_watch.h"

#include <doctest/doctest.h>

#include <set>

#include "supervisor/driver/translate.h"
#include "supervisor/group/backup_solver.h"

namespace robustrun::supervisor::copies_watch_test {
namespace {

TEST_CASE("of what agents say every second only another place of a copy is news") {
  CopiesWatch watch;
  watch.begin_attempt({2}, 2);
  CHECK_FALSE(watch.take({{2}, {{{0}, false, false, 0}}}));
  const auto first = watch.take({{2}, {{{0}, true, false, 10}, {{1}, false, false, 0}}});
  REQUIRE(first);
  CHECK(first->attempt == base::Attempt{2});
  CHECK(first->copies == std::vector<KeptCopy>{{{0}, true, false, 10}});
  CHECK_FALSE(watch.take({{2}, {{{0}, true, false, 20}}}));
  const auto second = watch.take({{2}, {{{0}, true, true, 30}}});
  REQUIRE(second);
  CHECK(second->copies == std::vector<KeptCopy>{{{0}, true, true, 30}});
  CHECK_FALSE(watch.take({{1}, {{{0}, false, false, 30}}}));  // another attempt's
  CHECK_FALSE(watch.take({{2}, {{{7}, true, true, 30}}}));  // there is no such rank
  watch.begin_attempt({3}, 2);
  CHECK(watch.take({{3}, {{{0}, true, true, 30}}}));
}

SolveBackup question(std::uint32_t nodes) {
  SolveBackup asked;
  asked.digest = 5;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    asked.places.push_back({{i}, "n" + std::to_string(i), 1});
  }
  asked.evictable = evictable_groups({});
  return asked;
}

TEST_CASE("without a topology the next node keeps the copies") {
  const BackupSolver solver(PlacementRequest{});
  const BackupSolved solved = solver.solve(question(4));
  CHECK(solved.digest == 5);
  REQUIRE(solved.keepers.size() == 4);
  CHECK(std::set(solved.keepers.begin(), solved.keepers.end()).size() == 4);
  for (std::uint32_t place = 0; place < 4; ++place) CHECK(solved.keepers[place] != place);
  CHECK(solved.text == "another node");
  CHECK_FALSE(solved.is_relaxed);
  CHECK(solver.solve(question(1)).keepers.empty());
  CHECK(solver.solve(question(1)).text == "there is no other node");
}

// n0 and n1, n2 and n3, … hang on a switch; n7 does not come.
PlacementRequest pairs() {
  PlacementRequest request;
  request.enabled = true;
  request.cluster.levels = {{"leaf", 0, {{"a", 0}, {"b", 0}, {"c", 0}, {"d", 0}}}};
  for (std::uint32_t i = 0; i < 8; ++i) {
    request.cluster.nodes.push_back({"n" + std::to_string(i), 0, {}, {}, {}});
    request.cluster.leaf_of.push_back(i / 2);
  }
  request.parallel.pp = 2;
  return request;
}

TEST_CASE("nodes are found by their names, and groups count where the policy evicts") {
  const BackupSolver solver(pairs());
  SolveBackup asked = question(8);
  const BackupSolved racks = solver.solve(asked);
  for (std::uint32_t place = 0; place < 8; ++place) {
    CHECK(racks.keepers[place] / 2 != place / 2);
  }
  CHECK(racks.text == "another node that shares no leaf switch with it");
  CHECK(evictable_groups({}).empty());  // it restarts, and that is all
  Policy policy;
  policy.ladders = {{FirstAction::kEvict, {{Step::kEvict, 0}}}};
  asked.evictable = evictable_groups(policy);
  const BackupSolved groups = solver.solve(asked);
  for (std::uint32_t place = 0; place < 8; ++place) {
    CHECK(groups.keepers[place] / 4 != place / 4);  // dp
    CHECK(groups.keepers[place] % 4 != place % 4);  // pp
  }
  CHECK(groups.text == "another node that shares no pp or dp group and no leaf switch with it");
  asked.former = groups.keepers;
  CHECK(solver.solve(asked).keepers == groups.keepers);
  for (PlacementNode& place : asked.places) place.name = "unknown-" + place.name;
  CHECK(solver.solve(asked).keepers.size() == 8);
}

TEST_CASE("racks count where all nodes hang on one switch, and keep their order") {
  PlacementRequest request;
  request.cluster.levels = {{"leaf", 0, {{"a", 0}}}};
  for (std::uint32_t i = 0; i < 4; ++i) {
    request.cluster.nodes.push_back({"n" + std::to_string(i), 0, {}, {}, {}});
    request.cluster.nodes.back().rack = i < 2 ? "r1" : "r2";
    request.cluster.leaf_of.push_back(0);
  }
  const BackupSolved solved = BackupSolver(request).solve(question(4));
  REQUIRE(solved.keepers.size() == 4);
  for (std::uint32_t place = 0; place < 4; ++place) CHECK(solved.keepers[place] / 2 != place / 2);
  CHECK(solved.text == "another node that shares no rack with it");
}

TEST_CASE("orders and answers become messages and events") {
  const PlaceCopies place{{1}, {3}, {{{4}, {2}, {1}, "10.0.0.2:7"}}, {{{0}, {0}, {2}, "e"}}, {}};
  const wire::PlaceCopies message = to_message(place);
  CHECK(message.attempt == base::Attempt{3});
  REQUIRE(message.send.size() == 1);
  CHECK(message.send[0].rank == base::Rank{4});
  CHECK(message.send[0].node == base::NodeId{2});
  CHECK(message.send[0].generation == base::Generation{1});
  CHECK(message.send[0].endpoint == "10.0.0.2:7");
  REQUIRE(message.hold.size() == 1);
  CHECK(message.hold[0].generation == base::Generation{2});
  CHECK(message.fetch.empty());
  const wire::SaveHeldCopies save = to_message(SaveHeldCopies{{1}, {3}, 9, {{4}, {5}}});
  CHECK(save.attempt == base::Attempt{3});
  CHECK(save.order == 9);
  CHECK(save.ranks == std::vector<base::Rank>{{4}, {5}});
  const std::vector<std::string> many(100, std::string(5000, 'x'));
  const HeldCopiesSaved saved = checked(HeldCopiesSaved{{3}, 9, 2, many});
  CHECK(saved.made_in == base::Attempt{3});
  CHECK(saved.order == 9);
  CHECK(saved.saved == 2);
  CHECK(saved.errors.size() < 100);
  CHECK(saved.errors[0].size() < 5000);
}

}  // namespace
}  // namespace robustrun::supervisor::copies_watch_test
