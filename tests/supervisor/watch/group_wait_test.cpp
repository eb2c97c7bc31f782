// Ranks that others wait for in init_process_group: found from stages, told once per attempt.
#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "supervisor/limits.h"
#include "supervisor/watch/group_wait_fold.h"
#include "supervisor/watch/group_wait_watch.h"

namespace robustrun::supervisor::group_wait_test {
namespace {

using namespace std::chrono_literals;
using base::Attempt;
using base::Nanos;
using wire::RankStage;
using wire::StageNews;

constexpr Nanos kNow = std::chrono::hours(50);
constexpr Attempt kAttempt{2};

RankStage waits(Nanos for_time) { return {StageName::kProcessGroup, kNow - for_time, false, true}; }
RankStage imports(Nanos for_time) { return {StageName::kImports, kNow - for_time, false, false}; }
RankStage has_imported(Nanos ago) { return {StageName::kImports, kNow - ago, true, false}; }
const RankStage kInGroup{StageName::kModel, kNow, false, true};

struct Node {
  std::string name;
  std::vector<RankStage> ranks;
  std::uint32_t workers = 2;
  StageNews news{};
};

// Nodes in the order of their ranks.
std::optional<GroupWait> look(const std::vector<Node>& nodes) {
  GroupWaitFold fold(kAttempt, kNow);
  std::uint32_t first = 0;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    NodeStatus status;
    status.name = nodes[i].name;
    status.node_rank = i;
    status.first_rank = first;
    status.workers = nodes[i].workers;
    StageNews news = nodes[i].news;
    if (!nodes[i].ranks.empty()) news.attempt = kAttempt;
    news.ranks = nodes[i].ranks;
    fold.take(status, news);
    first += nodes[i].workers;
  }
  return fold.result();
}

TEST_CASE("a rank that still imports is named, with its node and how long it has imported") {
  const auto found = look({{"n1", {waits(31s), waits(29s)}}, {"n2", {kInGroup, imports(32s)}}});
  REQUIRE(found);
  CHECK(found->waiting == 2);
  CHECK(found->missing == 1);
  CHECK(found->lasting == 31s);
  CHECK(in_words(*found) ==
        "in init_process_group for rank 3 (n2, imports 32.00 s), 31.00 s so far");
  CHECK(missing_in_words(*found) == "rank 3 on n2");
}

TEST_CASE("a rank is named wherever it is: between two stages, not started, at its node's stage") {
  Node busy{"n3", {}, 1};
  busy.news = {Attempt{1}, StageName::kImage, kNow - 5s};  // it belongs to the next attempt
  Node silent{"n4", {}, 1};
  silent.news = {Attempt{1}, {}, {}, {}, {kInGroup}};  // of the last attempt
  const auto found =
      look({{"n1", {waits(31s), has_imported(12s)}}, {"n2", {imports(32s)}}, busy, silent});
  REQUIRE(found);
  CHECK(found->missing == 5);
  REQUIRE(found->ranks.size() == 5);
  CHECK(found->ranks[0].stage == "imports done");
  CHECK(found->ranks[0].stage_took == 12s);
  CHECK(found->ranks[2].stage == "not started");
  CHECK_FALSE(found->ranks[2].stage_took);
  CHECK(found->ranks[3].stage == "image");
  CHECK(found->ranks[4].stage == "not started");
  CHECK(in_words(*found) ==
        "in init_process_group for rank 1 (n1, imports done 12.00 s ago), rank 2 (n2, imports "
        "32.00 s), rank 3 (n2, not started) and 2 more, 31.00 s so far");
}

TEST_CASE("a rank that ended without the group is named as such") {
  GroupWaitFold fold(kAttempt, kNow);
  NodeStatus node;
  node.name = "n1";
  node.node_rank = 0;
  node.workers = 2;
  node.ranks.resize(2);
  node.ranks[1].state = WorkerStage::kSucceeded;
  fold.take(node, {kAttempt, {}, {}, {}, {waits(40s), has_imported(39s)}});
  const auto found = fold.result();
  REQUIRE(found);
  CHECK(in_words(*found) == "in init_process_group for rank 1 (n1, ended), 40.00 s so far");
}

TEST_CASE("nothing is told while all have arrived, no rank waits, or it is of another attempt") {
  CHECK_FALSE(look({{"n1", {waits(90s), waits(1s)}}, {"n2", {waits(80s), kInGroup}}}));
  CHECK_FALSE(look({{"n1", {imports(90s), imports(90s)}}, {"n2", {has_imported(80s)}}}));
  CHECK_FALSE(look({{"n1", {kInGroup, kInGroup}}, {"n2", {imports(90s), imports(90s)}}}));
  Node old{"n1", {}};
  old.news = {Attempt{1}, {}, {}, {}, {waits(90s), imports(90s)}};
  CHECK_FALSE(look({old}));
  CHECK_FALSE(look({}));
}

TEST_CASE("a node outside the group is not waited for") {
  GroupWaitFold fold(kAttempt, kNow);
  NodeStatus node;
  node.node_rank = 0;
  node.workers = 1;
  fold.take(node, {kAttempt, {}, {}, {}, {waits(40s)}});
  NodeStatus spare;
  spare.workers = 1;
  fold.take(spare, {});
  CHECK_FALSE(fold.result());
}

TEST_CASE("of many missing ranks the first are kept, in whatever order their nodes come") {
  GroupWaitFold fold(kAttempt, kNow);
  for (const std::uint32_t first : {40U, 20U, 60U, 0U}) {
    NodeStatus node;
    node.name = "n" + std::to_string(first);
    node.node_rank = first;
    node.first_rank = first;
    node.workers = 20;
    std::vector<RankStage> ranks;
    if (first == 0) ranks.assign(10, waits(33s));
    fold.take(node, {kAttempt, {}, {}, {}, ranks});
  }
  const auto found = fold.result();
  REQUIRE(found);
  CHECK(found->missing == 70);
  REQUIRE(found->ranks.size() == kMissingKept);
  for (std::uint32_t i = 0; i < kMissingKept; ++i) CHECK(found->ranks[i].rank == 10 + i);
  CHECK(found->ranks[9].node == "n0");
  CHECK(found->ranks[10].node == "n20");
  CHECK(missing_in_words(*found) == "rank 10 on n0 and 69 more");
}

TEST_CASE("a newer agent's stage has no name here, and clocks may differ") {
  RankStage strange = imports(1s);
  strange.stage = static_cast<StageName>(200);
  const auto found = look({{"n1", {waits(40s), strange}}, {"n2", {imports(-3s), imports(1s)}}});
  REQUIRE(found);
  CHECK(found->ranks[0].stage == "not started");
  CHECK(found->ranks[1].stage_took == 0s);
}

GroupWait wait_of(Nanos lasting) {
  return {lasting, 1, 2, {{3, "n2", "imports", 32s}, {4, "n2\x1b[2J", "not started", {}}}};
}

TEST_CASE("a long wait is logged once per attempt, with what shows the stacks") {
  GroupWaitWatch watch;
  CHECK_FALSE(watch.wants_look(kNow));  // no attempt has begun
  watch.begin_attempt(kNow);
  CHECK_FALSE(watch.wants_look(kNow + kGroupWaitSaidAfter - 1ms));
  Nanos now = kNow + kGroupWaitSaidAfter;
  CHECK(watch.wants_look(now));
  CHECK_FALSE(watch.take(wait_of(kGroupWaitSaidAfter - 1s), "otter", now));  // not long enough
  CHECK_FALSE(watch.wants_look(now + kGroupWaitLooksApart - 1ms));
  now += kGroupWaitLooksApart;
  CHECK(watch.wants_look(now));
  const auto said = watch.take(wait_of(kGroupWaitSaidAfter), "otter", now);
  REQUIRE(said);
  CHECK(said->starts_with(
      "waiting in init_process_group for rank 3 (n2, imports 32.00 s) and rank 4 (n2"));
  CHECK(said->ends_with(", 30.00 s so far; stacks: robustrun diagnose otter"));
  CHECK(said->find('\x1b') == std::string::npos);
  CHECK_FALSE(watch.wants_look(now + 1h));
  watch.begin_attempt(now + 1h);
  CHECK(watch.wants_look(now + 1h + kGroupWaitSaidAfter));
}

TEST_CASE("an attempt whose ranks all arrive in time is not told of") {
  GroupWaitWatch watch;
  watch.begin_attempt(kNow);
  for (Nanos now = kNow; now < kNow + 10min; now += 250ms) {
    if (watch.wants_look(now)) CHECK_FALSE(watch.take(std::nullopt, "otter", now));
  }
}

}  // namespace
}  // namespace robustrun::supervisor::group_wait_test
