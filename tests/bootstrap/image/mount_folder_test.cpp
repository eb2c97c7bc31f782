#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "base/io/fd.h"
#include "bootstrap/image/mount_folder.h"
#include "tests/support/scratch.h"

namespace mount_folder_test {

using namespace robustrun;
using namespace robustrun::bootstrap;

namespace {

constexpr const char* kPath = "/usr/bin:/bin";

// What a killed process leaves: its folders and files, and no lock.
std::string left_behind(const std::string& base, const std::string& name) {
  const auto folder = MountFolder::take(base, name, "a test");
  REQUIRE(folder);
  REQUIRE(folder->make_inside("root"));
  return folder->path();
}

}  // namespace

TEST_CASE("a held folder is not disturbed: the next process of the name gets another one") {
  const test::Scratch scratch;
  const std::string base = scratch.path("base");
  const auto first = MountFolder::take(base, "run", "a test");
  const auto second = MountFolder::take(base, "run", "a test");
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->path() == base + "/mounts/run-0");
  CHECK(second->path() == base + "/mounts/run-1");
  CHECK(remove_stale_mounts(base, kPath).empty());
  CHECK(std::filesystem::exists(first->path()));
}

TEST_CASE("abandoned folders are removed, held ones stay") {
  const test::Scratch scratch;
  const std::string base = scratch.path("base");
  const std::string stale = left_behind(base, "dead");
  REQUIRE(base::write_file_atomically(stale + "/socket", "", 0600));
  const auto living = MountFolder::take(base, "living", "a test");
  REQUIRE(living);
  CHECK(remove_stale_mounts(base, kPath) == std::vector<std::string>{stale});
  CHECK_FALSE(std::filesystem::exists(stale));
  CHECK(std::filesystem::exists(living->path() + "/owner"));
}

TEST_CASE("a successor takes over its predecessor's folder, which the clean-up spares") {
  const test::Scratch scratch;
  const std::string base = scratch.path("base");
  const std::string left = left_behind(base, "run");
  const std::string other = left_behind(base, "run-of-another");
  CHECK(remove_stale_mounts(base, kPath, "run") == std::vector<std::string>{other});
  const auto successor = MountFolder::take(base, "run", "a test");
  REQUIRE(successor);
  CHECK(successor->path() == left);
  CHECK(std::filesystem::exists(left + "/root"));
}

TEST_CASE("a removed folder is gone with everything in it") {
  const test::Scratch scratch;
  const std::string base = scratch.path("base");
  auto folder = MountFolder::take(base, "run", "a test");
  REQUIRE(folder);
  const auto inside = folder->make_inside("root");
  REQUIRE(inside);
  CHECK(*inside == folder->path() + "/root");
  CHECK(std::filesystem::status(*inside).permissions() == std::filesystem::perms::owner_all);
  REQUIRE(folder->remove(kPath));
  CHECK_FALSE(std::filesystem::exists(folder->path()));
}

TEST_CASE("a folder with foreign files is kept and reported, not emptied") {
  const test::Scratch scratch;
  const std::string base = scratch.path("base");
  auto folder = MountFolder::take(base, "run", "a test");
  REQUIRE(folder);
  const auto inside = folder->make_inside("root");
  REQUIRE(inside);
  REQUIRE(base::write_file_atomically(*inside + "/precious", "data", 0600));
  const auto removed = folder->remove(kPath);
  REQUIRE_FALSE(removed);
  CHECK(removed.error().what.starts_with("cannot remove " + *inside));
  CHECK(std::filesystem::exists(*inside + "/precious"));
}

TEST_CASE("a base folder that is open to others is refused") {
  const test::Scratch scratch;
  const std::string base = scratch.path("open");
  REQUIRE(::mkdir(base.c_str(), 0755) == 0);
  ::chmod(base.c_str(), 0755);
  CHECK_FALSE(MountFolder::take(base, "run", "a test"));
}

}  // namespace mount_folder_test
