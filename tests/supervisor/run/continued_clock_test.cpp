// The clock of a run that is taken over more than once.
#include "supervisor/run/continued_clock.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "supervisor/run_dir/saved_request.h"
#include "tests/scratch_folder.h"

namespace robustrun::supervisor::continued_clock_test {
namespace {

using namespace std::chrono_literals;

struct Machine final : base::Clock {
  base::Nanos up{}, wall{};
  [[nodiscard]] base::Nanos now() const override { return up; }
  [[nodiscard]] base::Nanos wall_time() const override { return wall; }
};

TEST_CASE("a second takeover on the same machine goes on with the run's clock") {
  const robustrun::test::ScratchFolder folder;
  RunRequest request;
  request.run_directory = folder.path();
  // The run began on a machine that was up for an hour, and goes on on one that is up for a month.
  Machine machine;
  machine.up = 24h * 30;
  machine.wall = 1'000'000h;
  base::Nanos last = 1h;
  base::Nanos last_wall = machine.wall - 1min;
  const base::Nanos ahead = clock_ahead(false, last, last_wall, machine);
  CHECK(ahead == last + 1min - machine.up);
  REQUIRE(save_request(request, ahead));
  const auto saved = load_request(folder.path());
  REQUIRE(saved);
  last = machine.up + ahead;
  last_wall = machine.wall;
  machine.up += 10s;
  machine.wall += 10s;
  CHECK(clock_ahead(saved->has_clock_of_this_boot(), last, last_wall, machine) == ahead);
}

TEST_CASE("a run that began on this machine since its boot is known to use its clock") {
  const robustrun::test::ScratchFolder folder;
  RunRequest request;
  request.run_directory = folder.path();
  REQUIRE(save_request(request, {}));
  const auto saved = load_request(folder.path());
  REQUIRE(saved);
  CHECK(saved->has_clock_of_this_boot() ==
        std::filesystem::exists("/proc/sys/kernel/random/boot_id"));
}

}  // namespace
}  // namespace robustrun::supervisor::continued_clock_test
