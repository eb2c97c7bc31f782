#include "base/io/descriptor_limit.h"

#include <string>

#include "base/core/text.h"
#include "base/io/tool.h"
#include "tests/base/support.h"

namespace descriptor_limit_test {

using namespace robustrun::base;

TEST_CASE("the limit of open descriptors is raised for this process, not for what it starts") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE(before.rlim_max > 200);
  const rlimit low{200, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
  CHECK(inherited_descriptor_limit() == 200);

  raise_descriptor_limit();
  rlimit raised{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &raised) == 0);
  CHECK(raised.rlim_cur == before.rlim_max);
  CHECK(inherited_descriptor_limit() == 200);
  const auto told =
      run_tool({"/bin/sh", "-c", "ulimit -S -n; ulimit -H -n"}, std::chrono::seconds(20));
  REQUIRE(told);
  const std::string hard =
      before.rlim_max == RLIM_INFINITY ? "unlimited" : std::to_string(before.rlim_max);
  CHECK(told->out == "200\n" + hard + "\n");
}

}  // namespace descriptor_limit_test
