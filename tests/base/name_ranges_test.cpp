#include "base/core/name_ranges.h"

#include <doctest/doctest.h>

#include "base/core/name_list.h"

namespace robustrun::base::name_ranges_test {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("names that count up make a range") {
  CHECK(name_ranges({}).empty());
  CHECK(name_ranges({"n1"}) == "n1");
  CHECK(name_ranges({"n1", "n2", "n3", "n7", "login"}) == "n[1-3],n7,login");
  CHECK(name_ranges({"n9", "n10"}) == "n[9-10]");
  CHECK(name_ranges({"n09", "n10"}) == "n[09-10]");
  CHECK(name_ranges({"n9", "n010"}) == "n9,n010");
  CHECK(name_ranges({"gpu-1.lan", "gpu-2.lan", "gpu-3.wan"}) == "gpu-[1-2].lan,gpu-3.wan");
  CHECK(name_ranges({"n2", "n1"}) == "n2,n1");
  CHECK(name_ranges({"n1", "n1"}) == "n1,n1");
  CHECK(name_ranges({"a", "b", ""}) == "a,b,");
  CHECK(name_ranges({"7", "8"}) == "[7-8]");
}

TEST_CASE("ranges are read back to the same names") {
  for (const Names& names :
       {Names{"n8", "n9", "n10", "n11"}, Names{"r1-n01", "r1-n02", "r2-n01"},
        Names{"n999999999", "n1000000000", "n1000000001"}, Names{"a1b2c", "a1b3c", "a2b4c"}}) {
    const auto read = expand_names(name_ranges(names), {.names_max = 10});
    REQUIRE(read);
    CHECK(*read == names);
  }
}

}  // namespace
}  // namespace robustrun::base::name_ranges_test
