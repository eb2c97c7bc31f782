#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "base/io/fd.h"
#include "base/io/tool.h"
#include "bootstrap/image/squash_image.h"
#include "bootstrap/image/squash_mount.h"
#include "tests/support/scratch.h"

namespace squash_mount_test {

using namespace robustrun;
using namespace robustrun::bootstrap;

namespace {

constexpr const char* kPath = "/usr/bin:/bin:/usr/sbin:/sbin";

// An image with one file; empty, with a message, if none can be made here.
std::optional<std::string> make_image(const test::Scratch& scratch) {
  const auto tool = base::find_executable("mksquashfs", kPath);
  if (!tool) {
    MESSAGE("skipped: mksquashfs is not installed");
    return std::nullopt;
  }
  const std::string tree = scratch.path("tree");
  REQUIRE(base::make_directories(tree + "/bin", 0755));
  REQUIRE(base::write_file_atomically(tree + "/bin/word", "hello\n", 0755));
  std::string image = scratch.path("image.sqsh");
  const auto made = base::run_tool({*tool, tree, image, "-quiet", "-no-progress", "-noappend"},
                                   std::chrono::seconds(20));
  REQUIRE(made);
  REQUIRE(made->status.success());
  return image;
}

void check_mounting(bool by_kernel) {
  const test::Scratch scratch;
  const auto image = make_image(scratch);
  if (!image) return;
  CHECK(look_at_squash_image(*image));
  const std::string folder = scratch.path("root");
  REQUIRE(::mkdir(folder.c_str(), 0700) == 0);
  auto mount = SquashMount::make({*image, folder, kPath, std::chrono::seconds(10), by_kernel});
  if (!mount) {
    MESSAGE("skipped: " << mount.error().what);
    return;
  }
  CHECK((by_kernel || !mount->is_by_kernel()));
  CHECK(is_mounted(folder));
  CHECK(base::read_file(folder + "/bin/word", 100).value_or("") == "hello\n");
  CHECK_FALSE(base::write_file_atomically(folder + "/bin/new", "", 0644));
  CHECK(mount->unmount());
  CHECK_FALSE(is_mounted(folder));
  CHECK(std::filesystem::is_empty(folder));
}

}  // namespace

TEST_CASE("an image can be read in its folder until it is unmounted") { check_mounting(true); }
TEST_CASE("squashfuse mounts an image as well") { check_mounting(false); }

TEST_CASE("squashfuse's own message says why it did not mount") {
  if (::access("/dev/fuse", R_OK | W_OK) != 0 || !base::find_executable("squashfuse_ll", kPath)) {
    MESSAGE("skipped: no /dev/fuse, or no squashfuse");
    return;
  }
  const test::Scratch scratch;
  const std::string image = scratch.path("none.sqsh");
  REQUIRE(base::write_file_atomically(image, std::string(8192, 'x'), 0600));
  const std::string folder = scratch.path("root");
  REQUIRE(::mkdir(folder.c_str(), 0700) == 0);
  const auto mount = SquashMount::make({image, folder, kPath, std::chrono::seconds(10), false});
  REQUIRE_FALSE(mount);
  CHECK(mount.error().what.starts_with("cannot mount " + image));
  CHECK_FALSE(is_mounted(folder));
}

TEST_CASE("unmounting succeeds if nothing is mounted") {
  const test::Scratch scratch;
  CHECK_FALSE(is_mounted(scratch.path("")));
  CHECK(unmount_all(scratch.path("nothing"), kPath));
}

}  // namespace squash_mount_test
