#include "supervisor/console/rank_layout.h"

#include <doctest/doctest.h>

#include <map>
#include <set>

namespace robustrun::supervisor::rank_layout_test {
namespace {

std::vector<std::uint32_t> ranks_of(const std::vector<tracer::RankGroup>& groups,
                                    const std::string& name) {
  for (const auto& group : groups) {
    if (group.name != name) continue;
    std::vector<std::uint32_t> ranks;
    for (const base::Rank rank : group.ranks) ranks.push_back(rank.value);
    return ranks;
  }
  return {};
}

TEST_CASE("groups of tp=2, pp=2 and what is left for dp, in Megatron's order") {
  const auto parallel = topo::parse_parallel("tp=2,pp=2,dp=auto").value();
  const auto groups = rank_layout(parallel, 8);
  CHECK(groups.size() == 12);
  CHECK(ranks_of(groups, "tp_0") == std::vector<std::uint32_t>{0, 1});
  CHECK(ranks_of(groups, "tp_3") == std::vector<std::uint32_t>{6, 7});
  CHECK(ranks_of(groups, "dp_0") == std::vector<std::uint32_t>{0, 2});
  CHECK(ranks_of(groups, "dp_3") == std::vector<std::uint32_t>{5, 7});
  CHECK(ranks_of(groups, "pp_1") == std::vector<std::uint32_t>{1, 5});
}

TEST_CASE("every rank is in one group of each kind") {
  const auto parallel = topo::parse_parallel("tp=4,cp=2,pp=3,dp=5").value();
  std::map<std::string, std::multiset<std::uint32_t>> by_kind;
  for (const auto& group : rank_layout(parallel, 120)) {
    const std::string kind = group.name.substr(0, group.name.find('_'));
    for (const base::Rank rank : group.ranks) by_kind[kind].insert(rank.value);
  }
  CHECK(by_kind.size() == 4);
  for (const auto& [kind, ranks] : by_kind) {
    CAPTURE(kind);
    CHECK(ranks.size() == 120);
    CHECK(std::set<std::uint32_t>(ranks.begin(), ranks.end()).size() == 120);
  }
}

TEST_CASE("a job that says nothing of its shape, or what cannot be, has no named groups") {
  CHECK(rank_layout({}, 8).empty());
  CHECK(rank_layout(topo::parse_parallel("tp=3").value(), 8).empty());
}

}  // namespace
}  // namespace robustrun::supervisor::rank_layout_test
