// Tests that need a small file system of their own run themselves again in a mount namespace that
// has one, so that no real disk gets full.
#include "agent/faults/disk_filler.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "agent/node/limits.h"
#include "base/core/clock.h"
#include "base/io/fd.h"
#include "base/io/tool.h"
#include "tests/support/loop.h"
#include "tests/support/scratch.h"

namespace robustrun::agent::disk_filler_test {
namespace {

constexpr std::uint64_t kDiskBytes = std::uint64_t{16} << 20;

std::uint64_t free_bytes(const std::string& folder) {
  struct statvfs info{};
  REQUIRE(::statvfs(folder.c_str(), &info) == 0);
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

struct Fixture {
  test::Loop loop;
  base::BlockingPool pool{loop.executor(), 2, 16};
  std::optional<DiskFiller> filler;
  std::vector<base::Result<std::uint64_t>> answers;

  Fixture() { filler.emplace(loop.executor(), pool); }
  void fill(const std::string& folder, base::Nanos duration) {
    filler->fill(folder, duration, [this](base::Result<std::uint64_t> bytes) {
      answers.push_back(std::move(bytes));
    });
  }
  base::Result<std::uint64_t> answer() {
    REQUIRE(loop.run_until([this] { return !answers.empty(); }));
    auto first = std::move(answers.front());
    answers.erase(answers.begin());
    return first;
  }
};

// Where the small file system is, in the process that has one.
std::string disk() {
  const char* const folder = ::getenv("RR_TEST_DISK");
  return folder == nullptr ? std::string() : folder;
}

// True in the process that has the small file system. Any other process runs the test of that name
// in such a process, and checks its result.
bool on_small_disk(const std::string& test) {
  if (!disk().empty()) return true;
  test::Scratch scratch;
  const auto unshare = base::find_executable("unshare", "/usr/bin:/bin");
  if (!unshare) {
    MESSAGE("not tested: there is no unshare");
    return false;
  }
  const std::string script =
      "mkdir \"$1\" \"$1-big\" && mount -t tmpfs -o size=16m none \"$1\" && "
      "mount -t tmpfs -o size=2g none \"$1-big\" || exit 77; "
      "RR_TEST_DISK=\"$1\" exec \"$2\" -tc=\"$3\"";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto end = base::run_tool(
      {*unshare, "-rm", "/bin/sh", "-c", script, "sh", scratch.path("disk"), self, test},
      std::chrono::seconds(60));
  REQUIRE(end);
  if (end->status.code == 77 || end->err.starts_with("unshare")) {
    MESSAGE("not tested: no mount namespace can be made here");
    return false;
  }
  CHECK_MESSAGE(end->status.success(), end->out);
  CHECK_MESSAGE(end->out.find("1 passed") != std::string::npos, end->out);
  return false;
}

bool is_empty(const std::string& folder) { return std::filesystem::is_empty(folder); }

TEST_CASE("a missing folder cannot be filled, and the next one can be tried") {
  Fixture f;
  test::Scratch scratch;
  f.fill(scratch.path("gone"), std::chrono::seconds(1));
  const auto refused = f.answer();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().os_errno == ENOENT);
  f.fill(scratch.path("gone"), std::chrono::seconds(1));
  CHECK(f.answer().error().os_errno == ENOENT);
}

TEST_CASE("the disk of / is never filled") {
  Fixture f;
  f.fill("/", std::chrono::seconds(1));
  const auto refused = f.answer();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == base::Errc::kInvalidArgument);
}

TEST_CASE("a disk is filled for a while and given back") {
  if (!on_small_disk("a disk is filled*")) return;
  Fixture f;
  const std::uint64_t before = free_bytes(disk());
  f.fill(disk(), std::chrono::milliseconds(100));
  const auto taken = f.answer();
  REQUIRE(taken);
  CHECK(*taken > kDiskBytes / 2);
  CHECK(free_bytes(disk()) == 0);
  CHECK(is_empty(disk()));  // no name: nothing is left, however the process ends
  const base::Fd file(::open((disk() + "/log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  CHECK(base::write_all(file.get(), std::string(1 << 16, 'x')).error().os_errno == ENOSPC);
  CHECK(f.loop.run_until([&] { return free_bytes(disk()) >= before - (1 << 16); }));
  CHECK(base::write_all(file.get(), "x"));
  std::filesystem::remove(disk() + "/log");
}

TEST_CASE("one fill at a time; after its end the next one can begin") {
  if (!on_small_disk("one fill at a time*")) return;
  Fixture f;
  const std::uint64_t before = free_bytes(disk());
  f.fill(disk(), std::chrono::milliseconds(50));
  f.fill(disk(), std::chrono::milliseconds(50));
  CHECK(f.answer().error().code == base::Errc::kConflict);  // at once, before the first one's
  REQUIRE(f.answer());
  f.fill(disk(), std::chrono::milliseconds(50));
  CHECK(f.answer().error().code == base::Errc::kConflict);
  REQUIRE(f.loop.run_until([&] { return free_bytes(disk()) == before; }));
  f.fill(disk(), std::chrono::milliseconds(1));
  CHECK(f.answer());
  CHECK(f.loop.run_until([&] { return free_bytes(disk()) == before; }));
}

TEST_CASE("destroying the filler frees the space, also in the middle") {
  if (!on_small_disk("destroying the filler*")) return;
  const std::uint64_t before = free_bytes(disk());
  {
    Fixture f;
    f.fill(disk(), std::chrono::hours(1));
    REQUIRE(f.answer());
    CHECK(free_bytes(disk()) == 0);
    f.filler.reset();
    CHECK(free_bytes(disk()) == before);
  }
  for (int i = 0; i < 20; ++i) {
    Fixture f;
    f.fill(disk(), std::chrono::hours(1));
    f.filler.reset();  // while the pool is working, or before
    CHECK(f.loop.run_until([&] { return free_bytes(disk()) == before; }));
    CHECK(f.answers.empty());
  }
  CHECK(is_empty(disk()));
}

TEST_CASE("more memory than the limit is never taken") {
  if (!on_small_disk("more memory*")) return;
  Fixture f;
  const std::string big = disk() + "-big";
  const std::uint64_t before = free_bytes(big);
  REQUIRE(before > kMemoryFillBytesMax);
  f.fill(big, std::chrono::seconds(1));
  const auto refused = f.answer();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == base::Errc::kLimit);
  CHECK(free_bytes(big) == before);
}

}  // namespace
}  // namespace robustrun::agent::disk_filler_test
