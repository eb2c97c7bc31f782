#include "topo/spares/spare_count.h"

#include <doctest/doctest.h>

namespace spare_count_test {

using robustrun::topo::spares_that_cover;

TEST_CASE("spares by the published rate are the published numbers") {
  CHECK(spares_that_cover(128) == 2);
  CHECK(spares_that_cover(256) == 2);
  CHECK(spares_that_cover(512) == 3);
  CHECK(spares_that_cover(1024) == 4);
}

TEST_CASE("no machine fails, all machines fail, there are no machines") {
  CHECK(spares_that_cover(0) == 0);
  CHECK(spares_that_cover(1000, 0) == 0);
  CHECK(spares_that_cover(7, 1) == 7);
  CHECK(spares_that_cover(1) == 0);
}

TEST_CASE("the 99th percentile of a coin thrown twice, and of one thrown ten times") {
  CHECK(spares_that_cover(2, 0.5) == 2);
  CHECK(spares_that_cover(10, 0.5) == 9);       // 8: 0.9893, 9: 0.9990
  CHECK(spares_that_cover(10, 0.5, 0.5) == 5);  // 4: 0.377, 5: 0.623
}

TEST_CASE("so many machines that the probability of no failure underflows") {
  const auto spares = spares_that_cover(2'000'000);
  CHECK(spares > 2400);  // 2400 on average, with a standard deviation of 49
  CHECK(spares < 2400 + 3 * 49);
}

}  // namespace spare_count_test
