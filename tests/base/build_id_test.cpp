#include "base/core/build_id.h"

#include <doctest/doctest.h>

namespace robustrun::base::build_id_test {
namespace {

TEST_CASE("a process knows its build, the same each time, in hex") {
  const std::string id = build_id();
  CHECK(id == build_id());
  CHECK(id.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(id.size() % 2 == 0);
}

}  // namespace
}  // namespace robustrun::base::build_id_test
