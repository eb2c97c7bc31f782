#include "agent/spawn/check_program.h"

#include <doctest/doctest.h>

#include <cerrno>

#include "tests/scratch_folder.h"

namespace robustrun::agent::check_program_test {
namespace {

TEST_CASE("a missing program is named, and what cannot be judged passes") {
  const test::ScratchFolder folder;
  folder.write("train.py", "pass\n");
  wire::WorkerTemplate workers;
  workers.working_directory = folder.path();
  workers.program = "train.py";
  CHECK(check_program(workers).has_value());
  workers.program = folder / "train.py";
  CHECK(check_program(workers).has_value());
  workers.program = "other.py";
  const auto missing = check_program(workers);
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().os_errno == ENOENT);
  CHECK(missing.error().what.starts_with(folder / "other.py" + " is not on this machine: "));
  CHECK(missing.error().what.ends_with(" (--sync-code=.)"));
  workers.program = "train.py/inner.py";
  CHECK(check_program(workers).error().os_errno == ENOTDIR);
  workers.program = "${local_rank}.py";
  CHECK(check_program(workers).has_value());
  workers.program = "package.module";
  workers.mode = wire::LaunchMode::kModule;
  CHECK(check_program(workers).has_value());
  workers.working_directory = folder / "gone";
  CHECK(check_program(workers).error().what.starts_with("the folder " + (folder / "gone") +
                                                        " is not on this machine"));
}

}  // namespace
}  // namespace robustrun::agent::check_program_test
