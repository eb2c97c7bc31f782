#include "topo/network/parallel.h"

#include <doctest/doctest.h>

namespace parallel_test {

using namespace robustrun;
using namespace robustrun::topo;

namespace {

std::string complaint(std::string_view text) {
  const auto parsed = parse_parallel(text);
  return parsed ? "" : parsed.error().what;
}

}  // namespace

TEST_CASE("sizes are read in any order, and dp is computed from the world size") {
  const auto parallel = parse_parallel("pp=4, tp=8,dp=auto");
  REQUIRE(parallel);
  CHECK(parallel->tp == 8);
  CHECK(parallel->pp == 4);
  CHECK(parallel->dp == 0);
  CHECK(least_world(*parallel) == 32);
  const auto resolved = resolve(*parallel, 96);
  REQUIRE(resolved);
  CHECK(resolved->dp == 3);
}

TEST_CASE("an invalid size is refused with the reason") {
  CHECK(complaint("tp=0").find("a number of 1 or more") != std::string::npos);
  CHECK(complaint("tp=auto").find("a number of 1 or more") != std::string::npos);
  CHECK(complaint("dp=x").find("or auto") != std::string::npos);
  CHECK(complaint("tp=2,tp=2").find("given twice") != std::string::npos);
  CHECK(complaint("zp=2").find("tp, cp, ep, dp and pp") != std::string::npos);
  CHECK(complaint("").find("KIND=NUMBER") != std::string::npos);
  CHECK(complaint("tp=99999999999").find("1 or more") != std::string::npos);
}

TEST_CASE("a world that the sizes do not divide is refused with both numbers") {
  const Parallel parallel = *parse_parallel("tp=8,pp=4");
  const auto wrong = resolve(parallel, 48);
  REQUIRE(!wrong);
  CHECK(wrong.error().what.find("48 ranks") != std::string::npos);
  CHECK(wrong.error().what.find("multiple of 32") != std::string::npos);
  const auto other = resolve(*parse_parallel("tp=8,pp=4,dp=2"), 96);
  REQUIRE(!other);
  CHECK(other.error().what.find("that makes 64") != std::string::npos);
  CHECK(!resolve(*parse_parallel("tp=2,ep=3"), 8));
  CHECK(!resolve(parallel, 0));
}

TEST_CASE("an order may leave out the last kinds") {
  const auto order = parse_rank_order("pp-tp");
  REQUIRE(order);
  CHECK(*order == std::vector{GroupKind::kPp, GroupKind::kTp, GroupKind::kCp, GroupKind::kEp,
                              GroupKind::kDp});
  CHECK(!parse_rank_order("tp-tp"));
  CHECK(!parse_rank_order("tp-xp"));
  CHECK(!parse_rank_order(""));
}

}  // namespace parallel_test
