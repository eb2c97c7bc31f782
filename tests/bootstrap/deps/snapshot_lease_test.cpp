#include "bootstrap/deps/lease.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "base/io/fd.h"
#include "bootstrap/store/limits.h"
#include "tests/scratch_folder.h"

using namespace robustrun;
using namespace robustrun::bootstrap;
using namespace std::chrono_literals;

namespace snapshot_lease_test {

TEST_CASE("one holder at a time has a lease, and gives it back") {
  const test::ScratchFolder scratch;
  const std::string path = scratch / "k.lease";
  const LeaseHolder first = this_holder("run-1", "aa");
  const LeaseHolder second = this_holder("run-2", "bb");
  CHECK(take_lease(path, first).value());
  CHECK_FALSE(take_lease(path, second).value());
  CHECK(look_at_lease(path)->holder == first);
  release_lease(path, second);  // not its own
  CHECK(look_at_lease(path).has_value());
  release_lease(path, first);
  CHECK_FALSE(look_at_lease(path).has_value());
  CHECK(take_lease(path, second).value());
}

TEST_CASE("a lease that is renewed never gets stale, one that is not does") {
  const LeaseHolder holder{"elsewhere", 1, 1, "run-1", "aa"};
  LeaseWatch watch;
  LeaseView view{holder, 1};
  base::Nanos now = 5s;
  CHECK_FALSE(watch.look(view, now));
  for (int i = 0; i < 20; ++i) {
    now += kLeaseStaleAfter - 1s;
    ++view.renewed_ns;
    CHECK_FALSE(watch.look(view, now));
  }
  CHECK_FALSE(watch.look(view, now + kLeaseStaleAfter - 1ms));
  CHECK(watch.look(view, now + kLeaseStaleAfter));
  view.holder.token = "bb";  // another holder took over
  CHECK_FALSE(watch.look(view, now + kLeaseStaleAfter));
}

TEST_CASE("a clock that differs from the file system's does not matter") {
  LeaseWatch watch;
  const LeaseView future{{"elsewhere", 1, 1, "run-1", "aa"}, 4'000'000'000'000'000'000};
  CHECK_FALSE(watch.look(future, 0s));
  CHECK(watch.look(future, kLeaseStaleAfter));
}

TEST_CASE("a dead holder on this machine is detected at once") {
  const LeaseHolder self = this_holder("run-1", "aa");
  CHECK_FALSE(is_holder_dead(self, self.host));
  LeaseHolder other = self;
  other.started += 1;  // its pid was reused
  CHECK(is_holder_dead(other, self.host));
  other = self;
  other.pid = 0x3FFFFFFF;  // beyond the pids of Linux
  CHECK(is_holder_dead(other, self.host));
  CHECK_FALSE(is_holder_dead(other, "another-host"));
}

TEST_CASE("only the lease that was seen is broken") {
  const test::ScratchFolder scratch;
  const std::string path = scratch / "k.lease";
  const LeaseHolder first = this_holder("run-1", "aa");
  const LeaseHolder second = this_holder("run-2", "bb");
  REQUIRE(take_lease(path, first).value());
  const LeaseView seen = look_at_lease(path).value();
  break_lease(path, seen);
  REQUIRE(take_lease(path, second).value());
  break_lease(path, seen);
  REQUIRE(look_at_lease(path).has_value());
  CHECK(look_at_lease(path)->holder == second);
  CHECK(std::distance(std::filesystem::directory_iterator(scratch.path()), {}) == 1);
}

TEST_CASE("a lease that was cut short has no holder, and can be broken") {
  const test::ScratchFolder scratch;
  const std::string path = scratch.write("k.lease", "robustrun-lease 1\nhost a\n");
  const auto view = look_at_lease(path);
  REQUIRE(view.has_value());
  CHECK(view->holder.host.empty());
  LeaseWatch watch;
  CHECK_FALSE(watch.look(*view, 0s));
  CHECK(watch.look(*view, kLeaseStaleAfter));
  break_lease(path, *view);
  CHECK_FALSE(look_at_lease(path).has_value());
}

TEST_CASE("a new modification time is a renewal") {
  const test::ScratchFolder scratch;
  const std::string path = scratch / "k.lease";
  REQUIRE(take_lease(path, this_holder("run-1", "aa")).value());
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - 1h);
  const auto before = look_at_lease(path)->renewed_ns;
  REQUIRE(renew_lease(path).has_value());
  CHECK(look_at_lease(path)->renewed_ns > before);
  CHECK_FALSE(renew_lease(scratch / "none").has_value());
}

}  // namespace snapshot_lease_test
