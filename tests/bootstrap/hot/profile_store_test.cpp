#include <doctest/doctest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>

#include "base/io/fd.h"
#include "bootstrap/hot/profile_store.h"
#include "bootstrap/store/limits.h"
#include "tests/support/scratch.h"

namespace profile_store_test {

using namespace robustrun;
using namespace robustrun::bootstrap;

namespace {

HotProfile made_at(std::int64_t when) { return {when, {{"/f", 1, 2, 0, {}}}}; }

std::vector<std::filesystem::path> stored(const std::string& cache) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(cache + "/hot")) {
    paths.push_back(entry.path());
  }
  return paths;
}

}  // namespace

TEST_CASE("a profile is found under its interpreter and program") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  const ProfileKey key{"/env/bin/python", "/home/user/train.py"};
  CHECK_FALSE(load_profile(cache, key));
  REQUIRE(save_profile(cache, key, made_at(5)));
  const auto found = load_profile(cache, key);
  REQUIRE(found);
  CHECK(found->is_own);
  CHECK(found->profile == made_at(5));
  REQUIRE(save_profile(cache, key, made_at(6)));
  CHECK(load_profile(cache, key)->profile == made_at(6));
  CHECK(stored(cache).size() == 1);
}

TEST_CASE("another program of the interpreter starts with the newest profile of its kind") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  REQUIRE(save_profile(cache, {"/env/bin/python", "/a.py"}, made_at(1)));
  const auto age = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(stored(cache)[0], age);
  REQUIRE(save_profile(cache, {"/env/bin/python", "/b.py"}, made_at(2)));
  const auto found = load_profile(cache, {"/env/bin/python", "/c.py"});
  REQUIRE(found);
  CHECK_FALSE(found->is_own);
  CHECK(found->profile == made_at(2));
  CHECK_FALSE(load_profile(cache, {"/other/bin/python", "/a.py"}));
}

TEST_CASE("damaged profiles, and those open to others, are not read") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  const ProfileKey key{"/env/bin/python", "/a.py"};
  REQUIRE(save_profile(cache, key, made_at(1)));
  const auto path = stored(cache)[0];
  REQUIRE(::chmod(path.c_str(), 0622) == 0);
  CHECK_FALSE(load_profile(cache, key));
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  CHECK(load_profile(cache, key));
  REQUIRE(base::write_file_atomically(path, "robustrun-hot 1\n", 0600));
  CHECK_FALSE(load_profile(cache, key));
  std::filesystem::remove(path);
  std::filesystem::create_symlink("/dev/zero", path);
  CHECK_FALSE(load_profile(cache, key));
}

TEST_CASE("a cache that belongs to another user or cannot be created is an error that names it") {
  const auto saved = save_profile("/proc/none", {"/p", "/a.py"}, made_at(1));
  REQUIRE_FALSE(saved);
  CHECK(saved.error().what.find("/proc/none") != std::string::npos);
}

TEST_CASE("the oldest profiles are removed if there are too many") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  const auto now = std::filesystem::file_time_type::clock::now();
  REQUIRE(save_profile(cache, {"/p", "/first"}, made_at(0)));
  std::filesystem::last_write_time(stored(cache)[0], now - std::chrono::hours(2));
  for (std::size_t i = 1; i <= kProfilesMax; ++i) {
    REQUIRE(save_profile(cache, {"/p", std::to_string(i)}, made_at(1)));
  }
  CHECK(stored(cache).size() == kProfilesMax);
  CHECK_FALSE(load_profile(cache, {"/p", "/first"})->is_own);
}

TEST_CASE("imports are found under their interpreter and start, if no other user can write them") {
  const test::Scratch scratch;
  const std::string cache = scratch.path("cache");
  const std::string list = "robustrun-modules 1\nmodule os\n";
  CHECK(load_imports(cache, "/p", 1).empty());
  REQUIRE(save_imports(cache, "/p", 1, list));
  CHECK(load_imports(cache, "/p", 1) == list);
  CHECK(load_imports(cache, "/p", 2).empty());
  CHECK(load_imports(cache, "/q", 1).empty());
  const auto path = stored(cache).at(0);
  CHECK(list_profiles(cache) == std::vector{path.string()});
  CHECK(is_whole_profile(path));
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  CHECK(load_imports(cache, "/p", 1).empty());
  REQUIRE(::chmod(path.c_str(), 0600) == 0);
  REQUIRE(::chmod((cache + "/hot").c_str(), 0777) == 0);
  CHECK(load_imports(cache, "/p", 1).empty());
  REQUIRE(::chmod((cache + "/hot").c_str(), 0700) == 0);
  CHECK(load_imports(cache, "/p", 1) == list);
  REQUIRE(base::write_file_atomically(path, "robustrun-modules 2\nmodule os\n", 0600));
  CHECK_FALSE(is_whole_profile(path));
  CHECK(load_imports(cache, "/p", 1).empty());
  const std::string elsewhere = scratch.path("list");
  REQUIRE(base::write_file_atomically(elsewhere, list, 0600));
  std::filesystem::remove(path);
  std::filesystem::create_symlink(elsewhere, path);
  CHECK(load_imports(cache, "/p", 1).empty());
}

}  // namespace profile_store_test
