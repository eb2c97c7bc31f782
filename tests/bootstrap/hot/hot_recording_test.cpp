// Uses real files, which the tests put into the page cache and drop from it.

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/io/fd.h"
#include "bootstrap/hot/hot_recording.h"
#include "bootstrap/hot/resident.h"
#include "bootstrap/image/file_system.h"
#include "bootstrap/store/limits.h"
#include "tests/paths.h"
#include "tests/support/scratch.h"

namespace hot_recording_test {

using namespace robustrun;
using namespace robustrun::bootstrap;

namespace {

void make_file(const std::string& path, std::size_t bytes) {
  REQUIRE(base::write_file_atomically(path, std::string(bytes, 'x'), 0644));
}

// Drops the file from the page cache, and disables read-ahead for later reads.
base::Fd open_cold(const std::string& path) {
  base::Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(fd);
  REQUIRE(::fdatasync(fd.get()) == 0);
  REQUIRE(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED) == 0);
  REQUIRE(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_RANDOM) == 0);
  return fd;
}

void touch(const base::Fd& fd, off_t offset, std::size_t bytes) {
  std::string buffer(bytes, '\0');
  REQUIRE(::pread(fd.get(), buffer.data(), bytes, offset) == static_cast<ssize_t>(bytes));
}

void say_skipped(const char* why) { MESSAGE("skipped: " << std::string(why)); }

bool covers(const std::vector<HotRange>& ranges, std::uint64_t offset, std::uint64_t length) {
  for (const HotRange& range : ranges) {
    if (range.offset <= offset && offset + length <= range.offset + range.length) return true;
  }
  return false;
}

constexpr std::size_t kMiB = std::size_t{1} << 20;

// tmpfs never drops pages; the build folder is on a disk, or the test reports that it is not.
struct DiskScratch {
  DiskScratch() : path(built_program("hot-") + std::to_string(::getpid())) {
    std::filesystem::create_directory(path);
  }
  ~DiskScratch() { std::filesystem::remove_all(path); }
  [[nodiscard]] std::string file(const std::string& name) const { return path + "/" + name; }
  [[nodiscard]] bool is_in_memory() const { return file_system_of(path) == FileSystem::kMemory; }
  std::string path;
};

}  // namespace

TEST_CASE("the parts of a file that were read are resident") {
  const DiskScratch disk;
  if (disk.is_in_memory()) return say_skipped("the build lies in memory");
  make_file(disk.file("data"), 8 * kMiB + 100);
  const base::Fd fd = open_cold(disk.file("data"));
  CHECK(resident_ranges(fd.get(), 8 * kMiB + 100).value().empty());
  touch(fd, 4096, 8192);
  touch(fd, 5 * kMiB, 4096);
  touch(fd, 8 * kMiB, 100);
  const auto ranges = resident_ranges(fd.get(), 8 * kMiB + 100).value();
  CHECK(covers(ranges, 4096, 8192));
  CHECK(covers(ranges, 5 * kMiB, 4096));
  CHECK(covers(ranges, 8 * kMiB, 100));
  CHECK_FALSE(covers(ranges, 2 * kMiB, 4096));
}

TEST_CASE("runs with a small gap between them are read as one") {
  const DiskScratch disk;
  if (disk.is_in_memory()) return say_skipped("the build lies in memory");
  make_file(disk.file("data"), 4 * kMiB);
  const base::Fd fd = open_cold(disk.file("data"));
  touch(fd, 0, 4096);
  touch(fd, static_cast<off_t>(kRangeGapMax), 4096);
  CHECK(resident_ranges(fd.get(), 4 * kMiB).value() ==
        std::vector<HotRange>{{0, kRangeGapMax + 4096}});
}

TEST_CASE(
    "a recording has regular files on disks, once each, with what is resident of large ones") {
  const DiskScratch disk;
  if (disk.is_in_memory()) return say_skipped("the build lies in memory");
  make_file(disk.file("small.py"), 100);
  make_file(disk.file("large.so"), 4 * kMiB);
  make_file(disk.file("cold.so"), 4 * kMiB);
  make_file(disk.file("empty"), 0);
  std::filesystem::create_symlink("large.so", disk.file("link.so"));
  const base::Fd large = open_cold(disk.file("large.so"));
  const base::Fd cold = open_cold(disk.file("cold.so"));
  touch(large, kMiB, 4096);
  const std::vector<TouchedFile> touched = {
      {disk.file("link.so"), true}, {disk.file("small.py"), false}, {disk.file("large.so"), true},
      {disk.file("cold.so"), true}, {disk.file("empty"), false},    {disk.file("gone"), false},
      {disk.path, false},           {"/proc/self/maps", false},     {"/dev/null", false}};
  const HotProfile profile = record_profile(touched, false, 77);
  CHECK(profile.made_s == 77);
  REQUIRE(profile.files.size() == 2);
  CHECK(profile.files[0].path == disk.file("link.so"));
  CHECK(profile.files[0].size == 4 * kMiB);
  CHECK(covers(profile.files[0].ranges, kMiB, 4096));
  CHECK(hot_bytes({0, {profile.files[0]}}) < kMiB);
  CHECK(profile.files[1].path == disk.file("small.py"));
  CHECK(profile.files[1].ranges.empty());
}

TEST_CASE("files on a local disk are not recorded if only shared ones are wanted") {
  const DiskScratch disk;
  if (file_system_of(disk.path) != FileSystem::kLocal) {
    return say_skipped("the build does not lie on a disk of this machine");
  }
  make_file(disk.file("small.py"), 100);
  CHECK(record_profile({{disk.file("small.py"), false}}, true, 0).files.empty());
}

TEST_CASE("a pipe among a worker's files does not hang the recording") {
  const test::Scratch scratch;
  REQUIRE(::mkfifo(scratch.path("pipe").c_str(), 0600) == 0);
  CHECK(record_profile({{scratch.path("pipe"), false}}, false, 0).files.empty());
}

TEST_CASE("kinds of file systems") {
  CHECK(file_system_of("/proc/self/maps") == FileSystem::kMemory);
  CHECK(file_system_of("/sys") == FileSystem::kMemory);
  CHECK(file_system_of("/no/such/file") == FileSystem::kMissing);
}

}  // namespace hot_recording_test
