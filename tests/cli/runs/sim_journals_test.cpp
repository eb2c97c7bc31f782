// Where `robustrun sim --from-journal` finds journals, and how many it takes.
#include "cli/runs/sim_journals.h"

#include <doctest/doctest.h>

#include "cli/options/limits.h"
#include "tests/cli/fakes.h"
#include "tests/scratch_folder.h"

namespace robustrun::cli::sim_journals_test {
namespace {

using testing::World;

TEST_CASE("journals are found by file, run directory and folder of these, each once") {
  const test::ScratchFolder scratch("/dev/shm");
  const std::string first = scratch.write("runs/a/journal", "");
  const std::string second = scratch.write("runs/b/journal", "");
  std::filesystem::create_directory(scratch / "runs/no-run");
  World world;
  world.around.working_directory = scratch.path();
  const std::vector<std::string> both = {first, second};
  CHECK(find_sim_journals({"runs"}, world.around) == both);
  CHECK(find_sim_journals({"runs/b", first, "runs", second}, world.around) == both);
  CHECK(run_name(first) == "a");
  CHECK(run_name("/elsewhere/kept.journal") == "kept.journal");
  const auto none = find_sim_journals({"runs/no-run"}, world.around);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == base::Errc::kNotFound);
  CHECK(none.error().what ==
        "cannot use --from-journal runs/no-run: there is no journal in it, nor in its directories");
}

TEST_CASE("the maximum number of journals is accepted; one more is refused") {
  const test::ScratchFolder scratch("/dev/shm");
  for (std::size_t i = 0; i < kSimJournalsMax; ++i) {
    const std::string run = scratch / std::to_string(i);
    REQUIRE(std::filesystem::create_directory(run));
    std::ofstream(run + "/journal").flush();
  }
  World world;
  const auto all = find_sim_journals({scratch.path()}, world.around);
  REQUIRE(all);
  CHECK(all->size() == kSimJournalsMax);
  (void)scratch.write("one-more/journal", "");
  const auto refused = find_sim_journals({scratch.path()}, world.around);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == base::Errc::kLimit);
  CHECK(refused.error().what ==
        "cannot use --from-journal " + scratch.path() + ": more than 10000 journals");
}

}  // namespace
}  // namespace robustrun::cli::sim_journals_test
