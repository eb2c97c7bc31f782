#include "supervisor/core/types/exit_code.h"

#include <doctest/doctest.h>

#include <cerrno>

namespace robustrun::supervisor::exit_code_test {
namespace {

using Kind = base::ExitStatus::Kind;

TEST_CASE("a worker's exit code is the run's, signals are 128 + n") {
  struct Row {
    base::ExitStatus status;
    int native;
  };
  const Row rows[] = {
      {{Kind::kExited, 1, false}, 1},     {{Kind::kExited, 3, false}, 3},
      {{Kind::kExited, 9, false}, 9},     {{Kind::kSignaled, 9, false}, 137},
      {{Kind::kSignaled, 6, true}, 134},  {{Kind::kExited, 89, false}, 89},
      {{Kind::kExited, 90, false}, 1},    {{Kind::kExited, 92, false}, 1},
      {{Kind::kExited, 93, false}, 93},   {{Kind::kExited, 94, false}, 1},
      {{Kind::kExited, 95, false}, 1},    {{Kind::kExited, 99, false}, 1},
      {{Kind::kExited, 100, false}, 100}, {{Kind::kExited, 255, false}, 255},
      {{Kind::kExited, 0, false}, 1},
  };
  for (const Row& row : rows) {
    CAPTURE(row.status.code);
    CHECK(exit_code_for_worker(row.status, false) == row.native);
    CHECK(exit_code_for_worker(row.status, true) == 1);
  }
}

TEST_CASE("a program that cannot be run gives the shell's codes") {
  CHECK(exit_code_for_start_failure(ENOENT, false) == 127);
  CHECK(exit_code_for_start_failure(EACCES, false) == 126);
  CHECK(exit_code_for_start_failure(ENOEXEC, false) == 126);
  CHECK(exit_code_for_start_failure(ENOENT, true) == 1);
}

TEST_CASE("compat mode knows failure only as 1") {
  CHECK(exit_code_for_signal(15, false) == 143);
  CHECK(exit_code_for_signal(15, true) == 1);
  CHECK(exit_code_for_infrastructure(false) == 94);
  CHECK(exit_code_for_infrastructure(true) == 1);
}

}  // namespace
}  // namespace robustrun::supervisor::exit_code_test
