// Dual-phase replay: the paper's example, every size that two phases can tell apart, and faults of
// one and of several machines.
#include "supervisor/core/types/replay_plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

namespace robustrun::supervisor::replay_plan_test {
namespace {

using Kind = ReplayVerdict::Kind;
using Machines = std::vector<Machine>;

struct Dice {
  std::mt19937_64 engine;
  explicit Dice(std::uint64_t seed) : engine(seed) {}
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(engine() % limit); }
};

struct Replay {
  ReplayShape shape;
  std::vector<ReplayGroup> horizontal, vertical;

  Replay(ReplayShape of, std::uint32_t machines)
      : shape(of),
        horizontal(replay_groups(of, machines, ReplayPhase::kHorizontal)),
        vertical(replay_groups(of, machines, ReplayPhase::kVertical)) {}

  static std::vector<std::size_t> with(const std::vector<ReplayGroup>& groups,
                                       const std::set<Machine>& faulty) {
    std::vector<std::size_t> failed;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const auto& members = groups[i].members;
      if (std::ranges::any_of(members, [&](Machine one) { return faulty.contains(one); })) {
        failed.push_back(i);
      }
    }
    return failed;
  }
  [[nodiscard]] ReplayVerdict run(const std::set<Machine>& faulty) const {
    return intersect(horizontal, vertical, with(horizontal, faulty), with(vertical, faulty));
  }
};

TEST_CASE("the paper's example: of 24 machines in groups of 4, H3 and V1 share number 13") {
  const Replay replay({4, 6}, 24);
  CHECK(replay.horizontal[3].members == Machines{12, 13, 14, 15});
  CHECK(replay.vertical[1].members == Machines{1, 7, 13, 19});
  const ReplayVerdict verdict = intersect(replay.horizontal, replay.vertical,
                                          std::vector<std::size_t>{3}, std::vector<std::size_t>{1});
  CHECK(verdict.kind == Kind::kOne);
  CHECK(verdict.suspects == Machines{13});
  CHECK(verdict.certain == Machines{13});
}

// Of the published rule itself, for any m and n.
bool is_unique(std::uint32_t m, std::uint32_t n) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (Machine x = 0; x < m * n; ++x) {
    if (!seen.emplace(x / m, x % n).second) return false;
  }
  return true;
}

TEST_CASE("two phases tell all machines apart exactly when m <= n") {
  for (std::uint32_t n = 1; n < 20; ++n) {
    for (std::uint32_t m = 1; m <= 25; ++m) {
      CAPTURE(m);
      CAPTURE(n);
      CHECK(is_unique(m, n) == (m <= n));
      if (m > n) continue;
      const Replay replay({m, n}, m * n);
      for (Machine x = 0; x < m * n; ++x) CHECK(replay.run({x}).suspects == Machines{x});
    }
  }
}

TEST_CASE("the shape holds all machines, in groups as large as can be told apart") {
  for (std::uint32_t machines = 2; machines < 600; ++machines) {
    for (std::uint32_t unit = 1; unit * unit <= machines; ++unit) {
      CAPTURE(machines);
      CAPTURE(unit);
      const auto shape = replay_shape(machines, unit);
      REQUIRE(shape);
      CHECK(shape->m % unit == 0);
      CHECK(shape->m <= shape->n);
      CHECK(shape->m * shape->n >= machines);
      CHECK(shape->m * (shape->n - 1) < machines);
      CHECK((shape->m + unit) * (shape->m + unit) > machines);
    }
  }
  CHECK_FALSE(replay_shape(1, 1));
  CHECK_FALSE(replay_shape(15, 4));
  CHECK(replay_shape(16, 4)->n == 4);
}

TEST_CASE("groups of a phase share no machine, and no machine is left out") {
  for (std::uint32_t machines : {2U, 6U, 7U, 24U, 101U, 1200U}) {
    const Replay replay(replay_shape(machines, 1).value(), machines);
    for (const auto* groups : {&replay.horizontal, &replay.vertical}) {
      std::multiset<Machine> all;
      for (const ReplayGroup& group : *groups) {
        CHECK(group.members.size() <= replay.shape.m);
        CHECK(std::ranges::is_sorted(group.members));
        all.insert(group.members.begin(), group.members.end());
      }
      CHECK(all.size() == machines);
      CHECK(std::set(all.begin(), all.end()).size() == machines);
    }
  }
}

TEST_CASE("one faulty machine is always found, also where the count is no product") {
  Dice dice(3);
  for (int round = 0; round < 2000; ++round) {
    const std::uint32_t machines = 2 + dice.below(400);
    const Replay replay(replay_shape(machines, 1).value(), machines);
    const Machine faulty = dice.below(machines);
    const ReplayVerdict verdict = replay.run({faulty});
    CHECK(verdict.kind == Kind::kOne);
    CHECK(verdict.suspects == Machines{faulty});
  }
}

TEST_CASE("two faulty machines are both among the suspects, which are few") {
  Dice dice(4);
  for (int round = 0; round < 2000; ++round) {
    const std::uint32_t machines = 4 + dice.below(400);
    const Replay replay(replay_shape(machines, 1).value(), machines);
    std::set<Machine> faulty;
    while (faulty.size() < 2) faulty.insert(dice.below(machines));
    const ReplayVerdict verdict = replay.run(faulty);
    CAPTURE(machines);
    CHECK(verdict.kind == Kind::kSeveral);
    CHECK(verdict.suspects.size() <= 4);
    for (const Machine one : faulty) {
      CHECK(std::ranges::find(verdict.suspects, one) != verdict.suspects.end());
    }
    for (const Machine one : verdict.certain) CHECK(faulty.contains(one));
  }
}

TEST_CASE("a fault that does not show, or not in both phases, is reported as such") {
  const Replay replay({4, 6}, 24);
  using Failed = std::vector<std::size_t>;
  CHECK(replay.run({}).kind == Kind::kNotReproduced);
  const auto one_phase = intersect(replay.horizontal, replay.vertical, Failed{3}, Failed{});
  CHECK(one_phase.kind == Kind::kOnePhase);
  CHECK(one_phase.suspects == Machines{12, 13, 14, 15});
  // H0 = 0 to 3, V5 = 5, 11, 17, 23.
  const auto apart = intersect(replay.horizontal, replay.vertical, Failed{0}, Failed{5});
  CHECK(apart.kind == Kind::kNothingShared);
  CHECK(apart.suspects == Machines{0, 1, 2, 3, 5, 11, 17, 23});
  CHECK(apart.certain.empty());
}

TEST_CASE("a group that lacks machines is filled up from those that passed") {
  const ReplayShape shape = replay_shape(7, 1).value();
  REQUIRE(shape.m == 2);
  REQUIRE(shape.n == 4);
  auto groups = replay_groups(shape, 7, ReplayPhase::kHorizontal);
  REQUIRE(groups[3].members == Machines{6});
  CHECK(fill_group(groups, 3, std::vector<std::uint8_t>{0, 1, 1, 0}, shape));
  CHECK(groups[3].helpers == Machines{2});
  CHECK_FALSE(fill_group(groups, 3, std::vector<std::uint8_t>{0, 0, 0, 0}, shape));
}

}  // namespace
}  // namespace robustrun::supervisor::replay_plan_test
