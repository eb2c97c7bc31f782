// Merging of reports by NCCL's RAS into the agents' snapshots.
#include "tracer/ras_merge.h"
#include "tests/paths.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "tests/tracer/fleet.h"

namespace robustrun::tracer::ras_merge_test {
namespace {

using base::Errc;
using Ranks = std::vector<std::uint32_t>;

enum class State : std::uint8_t { kWell, kSilent, kDead, kNothing };

std::string rank_json(std::uint32_t rank, std::int32_t pid, State state) {
  const std::string json = R"({"rank":)" + std::to_string(rank) + R"(,"host":"10.0.0.)" +
                           std::to_string(rank / 4) + R"(","pid":)" + std::to_string(pid);
  if (state == State::kWell) return json + "}";
  return json + R"(,"status":{"unresponsive":true,"considered_dead":)" +
         (state == State::kDead ? "true}}" : "false}}");
}

// One communicator; the processes are those of `Fleet`, plus `pid_shift`.
std::string communicator(const std::vector<State>& state, std::uint32_t size, int pid_shift = 0) {
  std::string ranks;
  std::string missing;
  for (std::uint32_t rank = 0; rank < state.size(); ++rank) {
    if (state[rank] == State::kNothing) continue;
    std::string& list = state[rank] == State::kWell ? ranks : missing;
    if (!list.empty()) list += ",";
    list += rank_json(rank, static_cast<std::int32_t>(1000 + rank) + pid_shift, state[rank]);
  }
  return R"({"hash":"0x1","size":)" + std::to_string(size) + R"(,"ranks":[)" + ranks +
         R"(],"missing_ranks":[)" + missing + "]}";
}

std::string report(const std::string& communicators) {
  return R"({"nccl_version":"2.29.2","communicators":[)" + communicators + "]}";
}

std::string report(const std::vector<State>& state, int pid_shift = 0) {
  return report(communicator(state, static_cast<std::uint32_t>(state.size()), pid_shift));
}

constexpr State kWell = State::kWell;
constexpr State kSilent = State::kSilent;
constexpr State kDead = State::kDead;
constexpr State kNothing = State::kNothing;

// Four ranks of which `unseen` have no snapshot; the others wait in an operation.
Fleet fleet_without(const Ranks& unseen) {
  Fleet fleet(4, 2);
  fleet.world();
  fleet.enter_all_but(1, {});
  for (const std::uint32_t rank : unseen) fleet.drop(rank);
  return fleet;
}

const RankSnapshot* find(const Fleet& fleet, std::uint32_t rank) {
  for (const RankSnapshot& one : fleet.snapshot.ranks) {
    if (one.rank.value == rank) return &one;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("an unseen rank that RAS considers dead counts as dead, with the source") {
  Fleet fleet = fleet_without({3});
  RankSnapshot place;
  place.rank = {3};
  place.node = "beta";
  place.local_rank = {1};
  REQUIRE(add_ras({report({kWell, kWell, kWell, kDead}), false, {place}}, fleet.snapshot));
  const RankSnapshot* const dead = find(fleet, 3);
  REQUIRE(dead != nullptr);
  CHECK(dead->life == Life::kDead);
  CHECK(dead->end == "NCCL's RAS considers it dead");
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kDied);
  CHECK(verdict.confidence == Confidence::kInferred);
  CHECK(numbers(verdict.culprits) == Ranks{3});
  CHECK(numbers(verdict.victims) == Ranks{0, 1, 2});
  CHECK(verdict.sentence.starts_with("rank 3 (beta, local 1) died"));
  CHECK(verdict.sentence.find("NCCL's RAS considers it dead") != std::string::npos);
}

TEST_CASE("for a dead rank without a known node, RAS's host is used") {
  Fleet fleet = fleet_without({0});
  REQUIRE(add_ras({report({kDead, kWell, kWell, kWell}), false, {}}, fleet.snapshot));
  REQUIRE(find(fleet, 0) != nullptr);
  CHECK(find(fleet, 0)->node == "10.0.0.0");
  CHECK(fleet.snapshot.ranks.front().rank.value == 0);  // still ascending
}

TEST_CASE("an unseen rank that is only silent, or not mentioned, stays unseen") {
  for (const State state : {kSilent, kNothing, kWell}) {
    Fleet fleet = fleet_without({3});
    REQUIRE(add_ras({report({kWell, kWell, kWell, state}), false, {}}, fleet.snapshot));
    CHECK(find(fleet, 3) == nullptr);
  }
}

TEST_CASE("an agent's snapshot stays; RAS only adds evidence") {
  Fleet fleet = fleet_without({});
  REQUIRE(add_ras({report({kWell, kSilent, kDead, kWell}), false, {}}, fleet.snapshot));
  CHECK(fleet.snapshot.ranks.size() == 4);
  for (std::uint32_t rank = 0; rank < 4; ++rank) CHECK(fleet.rank(rank).life == Life::kRunning);
  CHECK(fleet.rank(0).evidence.hearsay.empty());
  CHECK(fleet.rank(1).evidence.hearsay ==
        std::vector<std::string>{"NCCL's RAS gets no answer from it"});
  CHECK(fleet.rank(2).evidence.hearsay == std::vector<std::string>{"NCCL's RAS considers it dead"});
  // All are inside and the culprit is unknown: RAS's claim is shown and accuses no rank.
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kUndecided);
  CHECK(verdict.culprits.empty());
  const auto has = [&](const char* line) {
    return std::ranges::find(verdict.evidence, line) != verdict.evidence.end();
  };
  CHECK(has("rank 1: NCCL's RAS gets no answer from it"));
  CHECK(has("rank 2: NCCL's RAS considers it dead"));
}

TEST_CASE("a verdict shows RAS's claim about a rank and does not depend on it") {
  Fleet fleet(4, 2);
  fleet.world();
  fleet.enter_all_but(1, {2});
  const Verdict before = fleet.verdict();
  REQUIRE(add_ras({report({kWell, kDead, kSilent, kWell}), false, {}}, fleet.snapshot));
  const Verdict after = fleet.verdict();
  CHECK(after.sentence == before.sentence);
  CHECK(after.confidence == before.confidence);
  CHECK(std::ranges::find(after.evidence, "rank 2: NCCL's RAS gets no answer from it") !=
        after.evidence.end());
}

TEST_CASE("only communicators of the world's size count") {
  Fleet fleet = fleet_without({3});
  const std::string others =
      communicator({kWell, kDead}, 2) + "," + communicator({kDead, kDead, kDead, kDead, kDead}, 5);
  REQUIRE(add_ras({report(others), false, {}}, fleet.snapshot));
  CHECK(fleet.snapshot.ranks.size() == 3);
  for (const RankSnapshot& rank : fleet.snapshot.ranks) CHECK(rank.evidence.hearsay.empty());
}

TEST_CASE("two communicators of the world's size count only where they agree") {
  Fleet fleet = fleet_without({2, 3});
  const std::string both = communicator({kWell, kWell, kDead, kDead}, 4) + "," +
                           communicator({kWell, kWell, kDead, kSilent}, 4);
  REQUIRE(add_ras({report(both), false, {}}, fleet.snapshot));
  CHECK(find(fleet, 2) != nullptr);
  CHECK(find(fleet, 3) == nullptr);
}

TEST_CASE("a report with other processes is refused") {
  Fleet fleet = fleet_without({3});
  const auto status = add_ras({report({kWell, kWell, kWell, kDead}, 1), false, {}}, fleet.snapshot);
  REQUIRE_FALSE(status);
  CHECK(status.error().code == Errc::kConflict);
  CHECK(find(fleet, 3) == nullptr);
}

TEST_CASE("a report that may be another job's must name a process of this one") {
  const std::string nameless = report({kNothing, kNothing, kNothing, kDead});
  Fleet fleet = fleet_without({3});
  CHECK_FALSE(add_ras({nameless, true, {}}, fleet.snapshot));
  CHECK(find(fleet, 3) == nullptr);
  REQUIRE(add_ras({report({kNothing, kWell, kNothing, kDead}), true, {}}, fleet.snapshot));
  CHECK(find(fleet, 3) != nullptr);
  Fleet own = fleet_without({3});
  REQUIRE(add_ras({nameless, false, {}}, own.snapshot));
  CHECK(find(own, 3) != nullptr);
}

TEST_CASE("a missing or unreadable report changes nothing") {
  Fleet fleet = fleet_without({3});
  CHECK(add_ras({"", false, {}}, fleet.snapshot));
  CHECK_FALSE(add_ras({"nonsense", false, {}}, fleet.snapshot));
  CHECK(fleet.snapshot.ranks.size() == 3);
}

TEST_CASE("a dead rank in a report of NCCL 2.28.9 is named") {
  std::ifstream file(in_source("tests/fixtures/ras/missing-2.28.9.json"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Fleet fleet = fleet_without({3});
  for (RankSnapshot& rank : fleet.snapshot.ranks) rank.pid += 3000;  // as in that report
  REQUIRE(add_ras({text, true, {}}, fleet.snapshot));
  CHECK(numbers(fleet.verdict().culprits) == Ranks{3});
}

}  // namespace robustrun::tracer::ras_merge_test
