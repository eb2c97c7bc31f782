#include "agent/spawn/attempt_dirs.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/scratch_folder.h"

namespace attempt_dirs_test {

using namespace robustrun;
using agent::make_attempt_dirs;
using base::Attempt;
using base::LocalRank;
namespace fs = std::filesystem;

TEST_CASE("the layout is torchrun's") {
  const test::ScratchFolder folder;
  const std::string logs = folder / "deep/logs";
  const auto paths = make_attempt_dirs(logs, Attempt{3}, {LocalRank{0}, LocalRank{12}}, false);
  REQUIRE(paths);
  CHECK(paths->directory == logs + "/attempt_3");
  CHECK(paths->filtered_stdout == logs + "/attempt_3/filtered_stdout.log");
  CHECK(paths->filtered_stderr == logs + "/attempt_3/filtered_stderr.log");
  CHECK(fs::is_directory(logs + "/attempt_3/0"));
  CHECK(fs::is_directory(logs + "/attempt_3/12"));
  const auto worker = agent::worker_paths(paths->directory, LocalRank{12});
  CHECK(worker.stdout_log == logs + "/attempt_3/12/stdout.log");
  CHECK(worker.stderr_log == logs + "/attempt_3/12/stderr.log");
  CHECK(worker.error_file == logs + "/attempt_3/12/error.json");
  struct stat found{};
  REQUIRE(::stat(paths->directory.c_str(), &found) == 0);
  CHECK((found.st_mode & 0777) == 0700);
}

TEST_CASE("without a log folder there are no files") {
  const auto paths = make_attempt_dirs("", Attempt{0}, {LocalRank{0}}, false);
  REQUIRE(paths);
  CHECK(paths->directory.empty());
  CHECK(paths->filtered_stdout.empty());
  CHECK(agent::worker_paths("", LocalRank{0}).error_file.empty());
}

TEST_CASE("native mode keeps every earlier incarnation of an attempt") {
  const test::ScratchFolder folder;
  for (int i = 0; i < 3; ++i) {
    const auto paths = make_attempt_dirs(folder.path(), Attempt{0}, {LocalRank{0}}, false);
    REQUIRE(paths);
    CHECK(fs::is_empty(paths->directory + "/0"));
    folder.write("attempt_0/0/stdout.log", std::to_string(i));
  }
  CHECK(fs::file_size(folder / "attempt_0.cycle_1/0/stdout.log") == 1);
  CHECK(fs::exists(folder / "attempt_0.cycle_2/0/stdout.log"));
  CHECK(!fs::exists(folder / "attempt_0.cycle_3"));
}

TEST_CASE("compat mode removes the earlier incarnation, but no target of a link in it") {
  const test::ScratchFolder folder;
  const std::string precious = folder.write("elsewhere/data", "precious");
  folder.write("logs/attempt_0/0/stdout.log", "old");
  fs::create_directory_symlink(folder / "elsewhere", folder / "logs/attempt_0/link");
  const auto paths = make_attempt_dirs(folder / "logs", Attempt{0}, {LocalRank{0}}, true);
  REQUIRE(paths);
  CHECK(fs::is_empty(paths->directory + "/0"));
  CHECK(!fs::exists(fs::symlink_status(folder / "logs/attempt_0/link")));
  CHECK(fs::file_size(precious) == 8);
}

TEST_CASE("an attempt folder that is itself a link is replaced, its target stays") {
  const test::ScratchFolder folder;
  const std::string precious = folder.write("elsewhere/data", "precious");
  for (const bool compat : {false, true}) {
    CAPTURE(compat);
    fs::remove_all(folder / "attempt_0");
    fs::create_directory_symlink(folder / "elsewhere", folder / "attempt_0");
    REQUIRE(make_attempt_dirs(folder.path(), Attempt{0}, {LocalRank{0}}, compat));
    CHECK(!fs::is_symlink(folder / "attempt_0"));
    CHECK(fs::file_size(precious) == 8);
    CHECK(!fs::exists(folder / "elsewhere/0"));
  }
}

TEST_CASE("a log folder that cannot be created is an error that names it") {
  const test::ScratchFolder folder;
  const std::string file = folder.write("file", "");
  const auto paths = make_attempt_dirs(file + "/logs", Attempt{0}, {}, false);
  REQUIRE(!paths);
  CHECK(paths.error().what.find(file) != std::string::npos);
}

}  // namespace attempt_dirs_test
