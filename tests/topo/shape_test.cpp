#include "topo/network/shape.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "tests/topo/drawn.h"

namespace shape_test {

using namespace robustrun;
using namespace robustrun::topo;

namespace {

using Groups = std::multiset<std::vector<PlaceIndex>>;

// By the definition: ranks that agree in all digits but those of the kind, as the places they are
// on; one entry for every group of ranks that leaves its place.
Groups by_definition(const Parallel& p, const std::vector<std::uint32_t>& slots, GroupKind kind) {
  std::vector<PlaceIndex> place_of;
  for (PlaceIndex place = 0; place < slots.size(); ++place) {
    place_of.insert(place_of.end(), slots[place], place);
  }
  std::map<std::vector<std::uint32_t>, std::vector<PlaceIndex>> groups;
  for (std::uint32_t rank = 0; rank < place_of.size(); ++rank) {
    std::uint32_t rest = rank;
    std::vector<std::uint32_t> key;
    for (const GroupKind digit : p.order) {
      const bool experts = kind == GroupKind::kEp;
      std::uint32_t size = 1;
      if (digit == GroupKind::kTp) size = p.tp;
      if (digit == GroupKind::kPp) size = p.pp;
      if (digit == GroupKind::kCp) size = experts ? 1 : p.cp;
      if (digit == GroupKind::kEp) size = experts ? p.ep : 1;
      if (digit == GroupKind::kDp) size = experts ? p.dp * p.cp / p.ep : p.dp;
      const bool own = digit == kind || (kind == GroupKind::kDp && digit == GroupKind::kCp);
      if (!own) key.push_back(rest % size);
      rest /= size;
    }
    groups[key].push_back(place_of[rank]);
  }
  Groups result;
  for (auto& [key, places] : groups) {
    std::vector<PlaceIndex> once;
    for (const PlaceIndex place : places) {
      if (std::ranges::find(once, place) == once.end()) once.push_back(place);
    }
    if (once.size() > 1) result.insert(once);
  }
  return result;
}

Groups of_family(const Family& family) {
  Groups groups;
  for (std::uint32_t g = 0; g < family.groups(); ++g) {
    const auto group = family.group(g);
    for (std::uint32_t i = 0; i < family.ranks[g]; ++i) groups.insert({group.begin(), group.end()});
  }
  return groups;
}

}  // namespace

TEST_CASE("a family's groups are the ranks that agree in every other digit, for 300 drawn jobs") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    drawn::Draw draw(seed);
    Parallel parallel;
    parallel.tp = draw(1, 4);
    parallel.cp = draw(1, 2);
    parallel.pp = draw(1, 3);
    parallel.dp = draw(1, 4);
    parallel.ep = (parallel.dp * parallel.cp) % 2 == 0 ? draw(1, 2) : 1;
    draw.shuffle(parallel.order);
    std::uint32_t world = parallel.tp * parallel.cp * parallel.pp * parallel.dp;
    std::vector<std::uint32_t> slots;  // nodes of different size, groups that end within them
    while (world > 0) {
      slots.push_back(std::min(world, draw(1, 8)));
      world -= slots.back();
    }
    const auto shape = make_shape(parallel, slots);
    REQUIRE(shape);
    for (std::uint8_t i = 0; i < kGroupKinds; ++i) {
      const auto kind = static_cast<GroupKind>(i);
      CAPTURE(to_string(kind));
      const auto found = std::ranges::find(shape->families, kind, &Family::kind);
      const Groups groups = found == shape->families.end() ? Groups{} : of_family(*found);
      CHECK(groups == by_definition(parallel, slots, kind));
    }
    const auto place = draw(0, static_cast<std::uint32_t>(slots.size() - 1));
    const auto around = shape_around(parallel, slots, place);
    REQUIRE(around);
    for (const Family& family : around->families) {
      const Family& whole = *std::ranges::find(shape->families, family.kind, &Family::kind);
      std::set<std::vector<PlaceIndex>> with_place;
      for (const auto& group : of_family(whole)) {
        if (std::ranges::find(group, place) != group.end()) with_place.insert(group);
      }
      const Groups near = of_family(family);
      CHECK(std::set(near.begin(), near.end()) == with_place);
    }
  }
}

TEST_CASE("Arnold's example: 12 nodes are 6 rows of 2 and 2 columns of 6") {
  Parallel parallel;
  parallel.tp = 4;
  parallel.pp = 2;
  const auto shape = make_shape(parallel, std::vector<std::uint32_t>(12, 8));
  REQUIRE(shape);
  CHECK(shape->parallel.dp == 12);
  REQUIRE(shape->families.size() == 2);  // tp stays within its node
  CHECK(shape->families[0].kind == GroupKind::kDp);
  CHECK(shape->families[0].groups() == 2);
  CHECK(shape->families[0].group(0).size() == 6);
  CHECK(shape->families[1].kind == GroupKind::kPp);
  CHECK(shape->families[1].groups() == 6);
  CHECK(shape->families[1].group(3)[0] == 3);
  CHECK(shape->families[1].group(3)[1] == 9);
}

}  // namespace shape_test
