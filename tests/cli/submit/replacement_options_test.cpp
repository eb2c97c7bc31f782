#include "cli/submit/replacement_options.h"

#include <doctest/doctest.h>

namespace robustrun::cli::replacement_options_test {

using Words = std::vector<std::string>;

TEST_CASE("what is about the run's own job is not asked for again") {
  const auto words = replacement_options(
      "--partition=gpu -A me --nodes=16 -N 16 -N16 --job-name 'a b' --no-kill --requeue "
      "--signal=B:USR1@180 -d afterok:1 --constraint='a100&ib' -x n1 --exclude=n2,n3 --mem=0 "
      "-wn[1-3] --array=0-3 --exclusive --nodelist n4 -C big");
  REQUIRE(words);
  CHECK(*words == Words{"--partition=gpu", "-A", "me", "--constraint=a100&ib", "--exclude=n1",
                        "--exclude=n2,n3", "--mem=0", "--exclusive", "-C", "big"});
  CHECK(replacement_options("")->empty());
  CHECK(replacement_options("  ")->empty());
  CHECK(replacement_options("--nodes")->empty());
  CHECK_FALSE(replacement_options("'open"));
}

}  // namespace robustrun::cli::replacement_options_test
