#include "agent/node/environment.h"

#include <doctest/doctest.h>

namespace robustrun::agent::environment_test {

TEST_CASE("a node's own variables replace the run's, entry by entry") {
  std::vector<std::string> entries = {"A=1", "B=2", "odd", "B=3", "C="};
  overlay_environment(entries, {"B=own=4", "D=5", "=x", "no"});
  CHECK(entries == std::vector<std::string>{"A=1", "odd", "C=", "B=own=4", "D=5"});
}

}  // namespace robustrun::agent::environment_test
