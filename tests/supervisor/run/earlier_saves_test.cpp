#include "supervisor/run/earlier_saves.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "supervisor/run_dir/journal.h"
#include "tests/scratch_folder.h"

namespace robustrun::supervisor::earlier_saves_test {
namespace {

using namespace std::chrono_literals;

void write_start(const std::string& directory, base::Nanos save) {
  std::filesystem::create_directory(directory);
  auto journal = Journal::create(directory + "/journal");
  REQUIRE(journal);
  CheckpointNoted noted;
  noted.total_most = save;
  REQUIRE(journal->append({base::Nanos(1s), Event{base::Nanos(1s), {}, {}, noted}}));
}

TEST_CASE("the saves of the last starts of the same job are known") {
  const robustrun::test::ScratchFolder folder;
  write_start(folder / "slurm-12", 9s);
  write_start(folder / "slurm-12-2", 7s);  // the one between left no journal
  write_start(folder / "slurm-12-3", 50s);  // this one's own is not read
  write_start(folder / "slurm-13", 60s);
  CHECK(earlier_saves(folder / "slurm-12-3", 3).longest().reported == base::Nanos(9s));
  CHECK(earlier_saves(folder / "slurm-12-1", 1).longest().reported == base::Nanos(9s));
  CHECK(earlier_saves(folder / "slurm-12-6", 6).longest().reported == base::Nanos(50s));
  CHECK(earlier_saves(folder / "slurm-12-7", 7).longest().reported == base::Nanos(50s));
  CHECK_FALSE(earlier_saves(folder / "slurm-12-8", 8).longest().reported);  // too long ago
}

TEST_CASE("without earlier starts, or with a directory of another name, nothing is known") {
  const robustrun::test::ScratchFolder folder;
  write_start(folder / "slurm-12", 9s);
  CHECK_FALSE(earlier_saves(folder / "slurm-12", 0).longest().reported);
  CHECK_FALSE(earlier_saves(folder / "mine", 1).longest().reported);
  CHECK_FALSE(earlier_saves(folder / "slurm-14-1", 1).longest().reported);
}

}  // namespace
}  // namespace robustrun::supervisor::earlier_saves_test
