#include "base/io/private_dir.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <latch>
#include <set>
#include <vector>

#include "base/io/fd.h"
#include "tests/scratch_folder.h"

namespace private_dir_test {

using robustrun::base::Errc;
using robustrun::base::make_private_directory;
using robustrun::base::private_base_directory;
using robustrun::base::usable_private_name;
using robustrun::test::ScratchFolder;

namespace {

constexpr uid_t kSomebodyElse = 65534;

const std::string kFallback = "/tmp/robustrun-" + std::to_string(::geteuid());

std::string base_with(const std::string& xdg) {
  return private_base_directory({"HOME=/", "XDG_RUNTIME_DIR=" + xdg, "LANG=C"});
}

mode_t permissions_of(const std::string& path) {
  struct stat info{};
  REQUIRE(::lstat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

bool is_refused(const std::string& path) {
  const auto made = make_private_directory(path);
  if (made) return false;
  CHECK(made.error().code == Errc::kPermission);
  CHECK(made.error().what.find(path) != std::string::npos);
  return true;
}

}  // namespace

TEST_CASE("the session's runtime folder is used while it exists and is ours") {
  const ScratchFolder folder;
  CHECK(base_with(folder.path()) == folder.path() + "/robustrun");
  CHECK_FALSE(std::filesystem::exists(folder / "robustrun"));
  CHECK(base_with(folder / "gone") == kFallback);
  CHECK(base_with("") == kFallback);
  CHECK(private_base_directory({}) == kFallback);
  CHECK(private_base_directory({"XDG_RUNTIME_DIRECTORY=" + folder.path()}) == kFallback);
}

TEST_CASE("a runtime folder that is relative, or a file, is ignored") {
  const ScratchFolder folder;
  CHECK(base_with(".") == kFallback);
  CHECK(base_with(std::filesystem::relative(folder.path()).string()) == kFallback);
  const std::string program = folder.write("program", "#!/bin/sh\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  CHECK(base_with(program) == kFallback);
}

TEST_CASE("another user's runtime folder is ignored") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can give a folder away");
    return;
  }
  const ScratchFolder folder;
  REQUIRE(::chown(folder.path().c_str(), kSomebodyElse, kSomebodyElse) == 0);
  CHECK(base_with(folder.path()) == kFallback);
}

TEST_CASE("the folder is created with mode 0700, whatever the umask, and reused") {
  const ScratchFolder folder;
  const mode_t before = ::umask(0);
  const auto made = make_private_directory(folder / "mine");
  ::umask(before);
  REQUIRE_MESSAGE(made, made.error().what);
  CHECK(permissions_of(folder / "mine") == 0700);
  CHECK(make_private_directory(folder / "mine"));
}

TEST_CASE("a folder that others may access is refused, and left unchanged") {
  const ScratchFolder folder;
  for (const mode_t mode : {0701, 0710, 0720, 0704, 0755, 0777, 01777}) {
    CAPTURE(mode);
    const std::string path = folder / std::to_string(mode);
    REQUIRE(::mkdir(path.c_str(), 0700) == 0);
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    CHECK(is_refused(path));
    CHECK(permissions_of(path) == mode);
  }
}

TEST_CASE("a link is refused, whatever its target") {
  const ScratchFolder folder;
  REQUIRE(::mkdir((folder / "mine").c_str(), 0700) == 0);
  std::filesystem::create_symlink(folder / "mine", folder / "link");
  CHECK(is_refused(folder / "link"));
  std::filesystem::create_symlink(folder / "nothing", folder / "dangling");
  CHECK(is_refused(folder / "dangling"));
  CHECK_FALSE(std::filesystem::exists(folder / "nothing"));
  folder.write("file", "");
  CHECK(is_refused(folder / "file"));
}

TEST_CASE("another user's folder is refused, even for root") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can give a folder away");
    return;
  }
  const ScratchFolder folder;
  REQUIRE(::mkdir((folder / "theirs").c_str(), 0700) == 0);
  REQUIRE(::chown((folder / "theirs").c_str(), kSomebodyElse, kSomebodyElse) == 0);
  CHECK(is_refused(folder / "theirs"));
}

TEST_CASE("in the place of a folder that another user took, one of another name is found again") {
  const ScratchFolder folder;
  const std::string path = folder / "robustrun-7";
  CHECK(usable_private_name(path) == path);
  CHECK_FALSE(std::filesystem::exists(path));
  REQUIRE(::mkdir(path.c_str(), 0755) == 0);
  // Not ours to use, either.
  REQUIRE(::mkdir((path + "-aaaaaa").c_str(), 0777) == 0);
  const std::string other = usable_private_name(path);
  CHECK(other.starts_with(path + "-"));
  CHECK(other != path + "-aaaaaa");
  CHECK(make_private_directory(other));
  CHECK(usable_private_name(path) == other);
  REQUIRE(::chmod(path.c_str(), 0700) == 0);
  CHECK(usable_private_name(path) == path);
}

TEST_CASE("processes that replace a taken name at the same time get the same folder") {
  for (int round = 0; round < 20; ++round) {
    const ScratchFolder folder;
    const std::string path = folder / "robustrun-7";
    folder.write("robustrun-7", "taken");
    std::vector<std::future<std::string>> all;
    std::latch begun(4);
    for (int i = 0; i < 4; ++i) {
      all.push_back(std::async(std::launch::async, [&] {
        begun.arrive_and_wait();
        return usable_private_name(path);
      }));
    }
    std::set<std::string> names;
    for (auto& each : all) names.insert(each.get());
    names.insert(usable_private_name(path));
    CHECK(names.size() == 1);
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 2);
  }
}

TEST_CASE("a lock that another user holds delays a replacement briefly") {
  const ScratchFolder folder;
  const std::string path = folder / "robustrun-7";
  folder.write("robustrun-7", "taken");
  const robustrun::base::Fd theirs(::open(folder.path().c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::flock(theirs.get(), LOCK_EX | LOCK_NB) == 0);
  const std::string found = usable_private_name(path);
  CHECK(found.starts_with(path + "-"));
  CHECK(usable_private_name(path) == found);
}

TEST_CASE("a missing parent is an error and is not created") {
  const ScratchFolder folder;
  const auto made = make_private_directory(folder / "no/such");
  REQUIRE_FALSE(made);
  CHECK(made.error().os_errno == ENOENT);
  CHECK_FALSE(std::filesystem::exists(folder / "no"));
}

}  // namespace private_dir_test
