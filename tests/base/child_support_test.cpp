#include "base/io/child_support.h"

#include <doctest/doctest.h>

TEST_CASE("a kernel on which children are watched has pidfds") {
  CHECK(robustrun::base::has_pidfd());
}
