#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "base/io/fd.h"
#include "bootstrap/hot/hot_recording.h"
#include "bootstrap/hot/read_ahead.h"
#include "bootstrap/hot/resident.h"
#include "bootstrap/image/file_system.h"
#include "tests/paths.h"
#include "tests/support/loop.h"
#include "tests/support/scratch.h"

namespace read_ahead_test {

using namespace robustrun;
using namespace robustrun::bootstrap;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

HotProfile profile_of(const std::vector<std::string>& paths) {
  HotProfile profile;
  for (const std::string& path : paths) {
    struct stat status{};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    profile.files.push_back(
        {path,
         static_cast<std::uint64_t>(status.st_size),
         std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec,
         0,
         {}});
  }
  return profile;
}

ReadAheadSummary read(HotProfile profile) {
  test::Loop loop;
  const base::SystemClock clock;
  std::optional<ReadAheadSummary> summary;
  const ReadAhead reading(loop.executor(), clock, std::move(profile),
                          [&](const ReadAheadSummary& all) { summary = all; });
  REQUIRE(loop.run_until([&] { return summary.has_value(); }));
  return *summary;
}

}  // namespace

TEST_CASE("read-ahead puts into the page cache what the profile names, and nothing else") {
  const std::string folder = built_program("ahead-") + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/data";
  REQUIRE(base::write_file_atomically(path, std::string(16 * kMiB, 'x'), 0644));
  if (file_system_of(path) != FileSystem::kMemory) {
    const base::Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(::fdatasync(fd.get()) == 0);
    REQUIRE(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED) == 0);
    REQUIRE(resident_ranges(fd.get(), 16 * kMiB).value().empty());
    HotProfile profile = profile_of({path});
    profile.files[0].ranges = {{0, 2 * kMiB}, {12 * kMiB, kMiB}};
    const ReadAheadSummary summary = read(profile);
    CHECK(summary.bytes == 3 * kMiB);
    CHECK(summary.changed == 0);
    const auto ranges = resident_ranges(fd.get(), 16 * kMiB).value();
    REQUIRE(ranges.size() >= 2);
    CHECK(ranges.front().offset == 0);
    CHECK(ranges.front().length >= 2 * kMiB);
    CHECK(ranges.front().length < 8 * kMiB);
    CHECK(ranges.back().offset <= 12 * kMiB);
    CHECK(ranges.back().offset + ranges.back().length >= 13 * kMiB);
  } else {
    MESSAGE("skipped: the build lies in memory, where nothing is cold");
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("files that changed, are gone or are not regular are counted and not read") {
  const test::Scratch scratch;
  std::vector<std::string> paths;
  for (const char* name : {"same", "longer", "newer", "gone", "pipe"}) {
    paths.push_back(scratch.path(name));
    REQUIRE(base::write_file_atomically(paths.back(), "0123456789", 0644));
  }
  const HotProfile profile = profile_of(paths);
  REQUIRE(base::write_file_atomically(scratch.path("longer"), "0123456789a", 0644));
  const timespec other[2] = {{1, 0}, {1, 0}};
  REQUIRE(::utimensat(AT_FDCWD, scratch.path("newer").c_str(), other, 0) == 0);
  std::filesystem::remove(scratch.path("gone"));
  std::filesystem::remove(scratch.path("pipe"));
  REQUIRE(::mkfifo(scratch.path("pipe").c_str(), 0600) == 0);
  const ReadAheadSummary summary = read(profile);
  CHECK(summary.files == 5);
  CHECK(summary.changed == 4);
  CHECK(summary.bytes == 10);
  CHECK(is_outdated(summary));
}

TEST_CASE("an empty profile is done at once") {
  const ReadAheadSummary summary = read({});
  CHECK(summary.bytes == 0);
  CHECK_FALSE(is_outdated(summary));
}

TEST_CASE("a cancelled read-ahead ends without a report") {
  const test::Scratch scratch;
  REQUIRE(base::write_file_atomically(scratch.path("large"), std::string(64 * kMiB, 'x'), 0644));
  test::Loop loop;
  const base::SystemClock clock;
  bool reported = false;
  std::optional<ReadAhead> reading(std::in_place, loop.executor(), clock,
                                   profile_of({scratch.path("large")}),
                                   [&](const ReadAheadSummary&) { reported = true; });
  reading.reset();
  loop.run_out();
  CHECK_FALSE(reported);
}

}  // namespace read_ahead_test
