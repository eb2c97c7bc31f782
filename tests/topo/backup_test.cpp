#include "topo/spares/backup.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <set>

#include "tests/topo/backup_oracle.h"
#include "tests/topo/drawn.h"
#include "topo/limits.h"

namespace robustrun::topo::backup_test {
namespace {

using Sets = std::vector<std::set<PlaceIndex>>;

// Machines of 8 ranks with TP inside, `rack` of them on a leaf switch, in the order of their ranks.
struct Grid {
  Cluster cluster;
  BackupProblem problem;
  std::uint32_t dp, pp;
  bool is_pp_fastest;

  Grid(std::uint32_t dp_size, std::uint32_t pp_size, bool pp_fastest, std::uint32_t rack)
      : cluster(drawn::cluster_of({dp_size * pp_size}, rack)),
        dp(dp_size),
        pp(pp_size),
        is_pp_fastest(pp_fastest) {
    problem.cluster = &cluster;
    problem.nodes.resize(cluster.nodes.size());
    std::iota(problem.nodes.begin(), problem.nodes.end(), 0);
    problem.slots.assign(problem.nodes.size(), 8);
    problem.parallel = parse_parallel(fmt::format("tp=8,pp={}", pp_size)).value();
    if (pp_fastest) problem.parallel.order = parse_rank_order("tp-cp-ep-pp-dp").value();
    problem.evictable = {GroupKind::kTp, GroupKind::kDp, GroupKind::kPp};
  }
  [[nodiscard]] PlaceIndex at(std::uint32_t d, std::uint32_t p) const {
    return is_pp_fastest ? p + pp * d : d + dp * p;
  }
  [[nodiscard]] Sets groups(GroupKind kind) const {
    Sets sets(kind == GroupKind::kPp ? dp : pp);
    for (std::uint32_t d = 0; d < dp; ++d) {
      for (std::uint32_t p = 0; p < pp; ++p) {
        sets[kind == GroupKind::kPp ? d : p].insert(at(d, p));
      }
    }
    return sets;
  }
  [[nodiscard]] Sets racks() const {
    Sets sets(cluster.levels.front().switches.size());
    for (PlaceIndex place = 0; place < problem.nodes.size(); ++place) {
      sets[cluster.leaf_of[place]].insert(place);
    }
    return sets;
  }
};

// Number of these sets that contain a node and its keeper.
std::size_t losses(const Sets& sets, const std::vector<PlaceIndex>& keeper) {
  return static_cast<std::size_t>(std::ranges::count_if(sets, [&](const auto& set) {
    return std::ranges::any_of(set, [&](PlaceIndex one) { return set.contains(keeper[one]); });
  }));
}

struct Losses {
  std::size_t pp, dp, rack;
  bool operator==(const Losses&) const = default;
};

Losses losses_of(const Grid& grid, const std::vector<PlaceIndex>& keeper) {
  return {losses(grid.groups(GroupKind::kPp), keeper), losses(grid.groups(GroupKind::kDp), keeper),
          losses(grid.racks(), keeper)};
}

bool is_one_to_one(const std::vector<PlaceIndex>& keeper) {
  std::set<PlaceIndex> all;
  for (PlaceIndex place = 0; place < keeper.size(); ++place) {
    if (keeper[place] == place || keeper[place] >= keeper.size()) return false;
    all.insert(keeper[place]);
  }
  return all.size() == keeper.size();
}

template <class KeeperOf>
std::vector<PlaceIndex> by_rule(const Grid& grid, KeeperOf keeper_of) {
  std::vector<PlaceIndex> keeper(grid.problem.nodes.size());
  for (PlaceIndex place = 0; place < keeper.size(); ++place) keeper[place] = keeper_of(place);
  return keeper;
}

TEST_CASE("1,200 machines, dp fastest: no eviction and no rack takes both, unlike other rules") {
  const Grid grid(150, 8, false, 16);
  CHECK(losses_of(grid, by_rule(grid, [](PlaceIndex p) { return p ^ 1U; })) == Losses{0, 8, 75});
  CHECK(losses_of(grid, by_rule(grid, [](PlaceIndex p) { return (p + 600) % 1200; })) ==
        Losses{150, 0, 0});
  const auto shift = [&](PlaceIndex p) { return grid.at((p % 150 + 1) % 150, (p / 150 + 1) % 8); };
  CHECK(losses_of(grid, by_rule(grid, shift)) == Losses{0, 0, 7});
  const Backup backup = choose_keepers(grid.problem);
  CHECK(is_one_to_one(backup.keeper));
  CHECK(losses_of(grid, backup.keeper) == Losses{0, 0, 0});
  CHECK_FALSE(backup.is_relaxed());
  CHECK(backup.how == "another node that shares no pp or dp group and no leaf switch with it");
}

TEST_CASE("1,200 machines, pp fastest: no eviction and no rack takes both, unlike other rules") {
  const Grid grid(150, 8, true, 16);
  CHECK(losses_of(grid, by_rule(grid, [](PlaceIndex p) { return p ^ 1U; })) == Losses{150, 0, 75});
  CHECK(losses_of(grid, by_rule(grid, [](PlaceIndex p) { return (p + 600) % 1200; })) ==
        Losses{0, 8, 0});
  const auto shift = [&](PlaceIndex p) { return grid.at((p / 8 + 1) % 150, (p % 8 + 1) % 8); };
  CHECK(losses_of(grid, by_rule(grid, shift)) == Losses{0, 0, 75});
  const Backup backup = choose_keepers(grid.problem);
  CHECK(is_one_to_one(backup.keeper));
  CHECK(losses_of(grid, backup.keeper) == Losses{0, 0, 0});
  CHECK_FALSE(backup.is_relaxed());
}

TEST_CASE("without racks the closed form is used") {
  for (const bool pp_fastest : {false, true}) {
    const Grid grid(16, 8, pp_fastest, 0);
    const Backup backup = choose_keepers(grid.problem);
    CHECK(backup.is_closed_form);
    CHECK(backup.keeper[grid.at(3, 2)] == grid.at(4, 3));
    CHECK(backup.keeper[grid.at(15, 7)] == grid.at(0, 0));
    CHECK(losses_of(grid, backup.keeper).pp + losses_of(grid, backup.keeper).dp == 0);
  }
}

TEST_CASE("ByteRobust's example: the copies of ranks 8 and 9 are outside of all of their groups") {
  Grid grid(2, 4, false, 0);
  grid.problem.slots.assign(8, 2);
  grid.problem.parallel = parse_parallel("tp=2,pp=4").value();
  const Backup backup = choose_keepers(grid.problem);
  CHECK(backup.keeper[4] % 2 != 4 % 2);
  CHECK(backup.keeper[4] / 2 != 4 / 2);
  CHECK_FALSE(backup.is_relaxed());
}

TEST_CASE("one kind of groups alone: a neighbour keeps the copies, of another rack") {
  Cluster cluster = drawn::cluster_of({8}, 2);
  BackupProblem problem;
  problem.cluster = &cluster;
  problem.nodes = {0, 1, 2, 3, 4, 5, 6, 7};
  problem.slots.assign(8, 8);
  problem.evictable = {GroupKind::kDp, GroupKind::kPp};
  const Backup backup = choose_keepers(problem);
  CHECK(is_one_to_one(backup.keeper));
  CHECK_FALSE(backup.is_relaxed());
  CHECK(backup.how == "another node that shares no leaf switch with it");
  for (PlaceIndex place = 0; place < 8; ++place) CHECK(backup.keeper[place] / 2 != place / 2);
}

TEST_CASE("near keepers come first: in the same pod if it has another leaf switch") {
  Cluster cluster = drawn::cluster_of({8, 8}, 4);
  BackupProblem problem;
  problem.cluster = &cluster;
  problem.nodes.resize(16);
  std::iota(problem.nodes.begin(), problem.nodes.end(), 0);
  problem.slots.assign(16, 1);
  const Backup backup = choose_keepers(problem);
  for (PlaceIndex place = 0; place < 16; ++place) {
    CHECK(backup.keeper[place] / 8 == place / 8);
    CHECK(backup.keeper[place] / 4 != place / 4);
  }
}

TEST_CASE("unavoidable conflicts are reported: power first, then rack, then the larger group") {
  Cluster cluster = drawn::cluster_of({4}, 0);
  BackupProblem problem;
  problem.cluster = &cluster;
  problem.nodes = {0, 1, 2, 3};
  problem.slots.assign(4, 1);
  const auto label = [&](const std::vector<const char*>& racks,
                         const std::vector<const char*>& power) {
    for (std::size_t i = 0; i < 4; ++i) {
      cluster.nodes[i].rack = racks[i];
      cluster.nodes[i].power = power[i];
    }
  };
  label({"a", "a", "b", "b"}, {"x", "y", "y", "x"});
  CHECK_FALSE(choose_keepers(problem).is_relaxed());
  label({"a", "a", "b", "b"}, {"x", "x", "x", "y"});
  const Backup power = choose_keepers(problem);
  CHECK(power.shared == std::vector<std::uint32_t>{2, 0, 0, 0, 0});
  CHECK(power.how ==
        "another node that shares no rack with it; 2 of 4 inevitably share a power supply with "
        "theirs");
  label({"a", "a", "a", "b"}, {"", "", "", ""});
  const Backup rack = choose_keepers(problem);
  CHECK(rack.shared == std::vector<std::uint32_t>{0, 2, 0, 0, 0});
  // Two by two, and each diagonal is a rack.
  label({"a", "b", "b", "a"}, {"", "", "", ""});
  problem.parallel = parse_parallel("pp=2").value();
  problem.evictable = {GroupKind::kDp, GroupKind::kPp};
  const Backup diagonal = choose_keepers(problem);
  CHECK(diagonal.shared == std::vector<std::uint32_t>{0, 4, 0, 0, 0});
  CHECK(diagonal.how.starts_with("another node that shares no pp or dp group with it; 4 of 4 "));
  // With three nodes of one pp group and one other node, one pair has to share the group.
  problem.parallel = parse_parallel("pp=4").value();
  problem.slots = {1, 1, 2, 4};
  label({"", "", "", ""}, {"", "", "", ""});
  const Backup row = choose_keepers(problem);
  CHECK(is_one_to_one(row.keeper));
  CHECK(row.is_relaxed());
}

TEST_CASE("a single node has no keeper, and with sizes that do not match only racks count") {
  Cluster cluster = drawn::cluster_of({4}, 2);
  BackupProblem problem;
  problem.cluster = &cluster;
  problem.nodes = {0};
  problem.slots = {8};
  CHECK(choose_keepers(problem).keeper.empty());
  CHECK(choose_keepers(problem).how == "there is no other node");
  problem.nodes = {0, 1, 2, 3};
  problem.slots.assign(4, 8);
  problem.parallel = parse_parallel("pp=5").value();
  problem.evictable = {GroupKind::kPp};
  const Backup backup = choose_keepers(problem);
  CHECK(is_one_to_one(backup.keeper));
  CHECK(backup.how == "another node that shares no leaf switch with it");
  problem.nodes = {kNoNode, kNoNode, kNoNode, 3};  // almost nothing is known
  CHECK(is_one_to_one(choose_keepers(problem).keeper));
}

TEST_CASE("a replacement inherits the arcs: only those that became conflicts change") {
  Grid grid(30, 4, false, 8);
  grid.cluster = drawn::cluster_of({128}, 8);  // the last switch has spares
  Backup backup = choose_keepers(grid.problem);
  REQUIRE_FALSE(backup.is_relaxed());
  drawn::Draw draw(11);
  NodeIndex spare = 120;
  for (int round = 0; round < 8; ++round, ++spare) {
    grid.problem.former = backup.keeper;
    const Backup same = choose_keepers(grid.problem);
    CHECK(same.keeper == backup.keeper);
    const PlaceIndex place = draw(0, 119);
    grid.problem.nodes[place] = spare;
    const Backup after = choose_keepers(grid.problem);
    CHECK(is_one_to_one(after.keeper));
    CHECK_FALSE(after.is_relaxed());
    std::size_t changed = 0;
    for (PlaceIndex p = 0; p < 120; ++p) changed += after.keeper[p] == backup.keeper[p] ? 0 : 1;
    CHECK(changed <= 4);  // its own, its keeper's, and those that make room
    backup = after;
  }
}

TEST_CASE("small clusters: all avoidable conflicts are avoided, by exhaustive search") {
  constexpr std::uint64_t kSeeds = 1500;
  std::size_t relaxed = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CAPTURE(seed);
    drawn::Draw draw(seed);
    const std::uint32_t places = draw(2, 6);
    Cluster cluster = drawn::cluster_of({places, draw(0, 2)}, draw(1, 3), 1);
    for (Node& node : cluster.nodes) {
      if (draw(0, 2) > 0) node.rack = std::string(1, static_cast<char>('a' + draw(0, 2)));
      if (draw(0, 2) > 0) node.power = std::string(1, static_cast<char>('x' + draw(0, 1)));
      if (draw(0, 3) == 0) node.nvl_domain = std::string(1, static_cast<char>('m' + draw(0, 1)));
    }
    BackupProblem problem;
    problem.cluster = &cluster;
    std::vector<NodeIndex> nodes(cluster.nodes.size());
    std::iota(nodes.begin(), nodes.end(), 0);
    draw.shuffle(nodes);
    problem.nodes.assign(nodes.begin(), nodes.begin() + places);
    std::uint32_t world = 0;
    for (std::uint32_t i = 0; i < places; ++i) {
      problem.slots.push_back(draw(0, 3) == 0 ? 2 : 1);
      world += problem.slots.back();
    }
    const std::uint32_t pp = draw(1, 4);
    if (world % pp == 0) problem.parallel.pp = pp;
    problem.evictable = {GroupKind::kDp, GroupKind::kPp};
    if (draw(0, 1) == 1) {  // with former keepers
      for (std::uint32_t i = 0; i < places; ++i) problem.former.push_back(draw(0, places));
    }
    const Backup backup = choose_keepers(problem);
    REQUIRE(is_one_to_one(backup.keeper));
    const Oracle oracle(cluster, problem);
    std::size_t first = 0;
    while (first < kTogethers && !oracle.exists(first)) ++first;
    relaxed += first > 0 ? 1 : 0;
    CHECK(backup.is_relaxed() == (first > 0));
    for (std::size_t kind = 0; kind < kTogethers; ++kind) {
      std::uint32_t shared = 0;
      for (PlaceIndex p = 0; p < places; ++p) {
        shared += oracle.conflict(static_cast<Together>(kind), p, backup.keeper[p]) ? 1 : 0;
      }
      CHECK(backup.shared[kind] == shared);
      if (kind >= first) CHECK(shared == 0);
    }
  }
  CHECK(relaxed > kSeeds / 10);
  CHECK(relaxed < kSeeds);
}

TEST_CASE("3,000 machines take little time, whichever are lost") {
  for (const bool pp_fastest : {false, true}) {
    const Grid grid(250, 12, pp_fastest, 24);
    const auto begin = std::chrono::steady_clock::now();
    const Backup backup = choose_keepers(grid.problem);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    MESSAGE("3,000 machines: " << took.count() * 1000 << " ms");
    CHECK(took.count() < 5);
    CHECK(is_one_to_one(backup.keeper));
    CHECK(losses_of(grid, backup.keeper) == Losses{0, 0, 0});
  }
}

TEST_CASE("more nodes than the limit: there are no keepers, and the reason is given") {
  const Cluster cluster = flat_cluster({});
  BackupProblem problem;
  problem.cluster = &cluster;
  problem.nodes.assign(kBackupPlacesMax + 1, kNoNode);
  problem.slots.assign(kBackupPlacesMax + 1, 1);
  const Backup backup = choose_keepers(problem);
  CHECK(backup.keeper.empty());
  CHECK(backup.how == "there are more than 16384 nodes");
}

}  // namespace
}  // namespace robustrun::topo::backup_test
