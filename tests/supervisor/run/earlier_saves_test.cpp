#include "supervisor/run/earlier_saves.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

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
  CHECK(earlier_saves(folder / "slurm-12-3", 3).times.longest().reported == base::Nanos(9s));
  CHECK(earlier_saves(folder / "slurm-12-1", 1).times.longest().reported == base::Nanos(9s));
  CHECK(earlier_saves(folder / "slurm-12-6", 6).times.longest().reported == base::Nanos(50s));
  CHECK(earlier_saves(folder / "slurm-12-7", 7).times.longest().reported == base::Nanos(50s));
  CHECK_FALSE(earlier_saves(folder / "slurm-12-8", 8).times.longest().reported);  // too long ago
}

TEST_CASE("without earlier starts, or with a directory of another name, nothing is known") {
  const robustrun::test::ScratchFolder folder;
  write_start(folder / "slurm-12", 9s);
  CHECK_FALSE(earlier_saves(folder / "slurm-12", 0).times.longest().reported);
  CHECK_FALSE(earlier_saves(folder / "mine", 1).times.longest().reported);
  CHECK_FALSE(earlier_saves(folder / "slurm-14-1", 1).times.longest().reported);
}

TEST_CASE("damaged journals of earlier starts are named once, missing ones are not") {
  const robustrun::test::ScratchFolder folder;
  write_start(folder / "slurm-12", 9s);
  CHECK(earlier_saves(folder / "slurm-12-2", 2).trouble.empty());
  write_start(folder / "slurm-12-1", 7s);
  std::ofstream(folder / "slurm-12-1/journal") << "no journal";
  EarlierSaves saves = earlier_saves(folder / "slurm-12-2", 2);
  CHECK(saves.times.longest().reported == base::Nanos(9s));
  CHECK(saves.trouble.find("slurm-12-1/journal: it is not a robustrun journal; how long saves") !=
        std::string::npos);
  CHECK(saves.trouble.find("journals of earlier starts") == std::string::npos);
  std::ofstream(folder / "slurm-12/journal") << "no journal";
  saves = earlier_saves(folder / "slurm-12-2", 2);
  CHECK_FALSE(saves.times.longest().reported);
  CHECK(saves.trouble.find("slurm-12-1/journal") != std::string::npos);
  CHECK(saves.trouble.ends_with("(2 journals of earlier starts have damage)"));
}

}  // namespace
}  // namespace robustrun::supervisor::earlier_saves_test
