#include <doctest/doctest.h>

#include "bootstrap/image/mount_table.h"

namespace mount_table_test {

using namespace robustrun::bootstrap;

constexpr const char* kTable =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "40 22 7:3 / /run/user/7/robustrun/mounts/a-0/root ro,nosuid - squashfs /dev/loop3 ro\n"
    "41 22 0:39 / /run/user/7/robustrun/mounts/a-0/blocks ro shared:2 master:1 - fuse.blocks b ro\n"
    "42 22 0:40 / /mnt/with\\040space\\134\\011 rw - fuse robustrun rw,user_id=0\n"
    "43 22 0:41 / /run/user/7/robustrun/mounts/a-01 ro - tmpfs none rw\n";

TEST_CASE("a mount table is read, with optional fields and escaped names") {
  const auto mounts = parse_mounts(kTable);
  REQUIRE(mounts.size() == 5);
  CHECK(mounts[0] == Mount{8, 1, "/", "ext4", "/dev/sda1"});
  CHECK(mounts[2] == Mount{0, 39, "/run/user/7/robustrun/mounts/a-0/blocks", "fuse.blocks", "b"});
  CHECK(mounts[3].folder == "/mnt/with space\\\t");
}

TEST_CASE("mounts below a folder come newest first, without those of its neighbours") {
  const auto below = mounts_below(parse_mounts(kTable), "/run/user/7/robustrun/mounts/a-0");
  REQUIRE(below.size() == 2);
  CHECK(below[0].type == "fuse.blocks");
  CHECK(below[1].type == "squashfs");
  CHECK(mounts_below(parse_mounts(kTable), "/mnt/with space\\\t").size() == 1);
}

TEST_CASE("FUSE is recognized under each of its names, and nothing else is") {
  const auto mounts = parse_mounts(kTable);
  CHECK(is_fuse(mounts[2]));
  CHECK(is_fuse(mounts[3]));
  CHECK_FALSE(is_fuse(mounts[1]));
  CHECK_FALSE(is_fuse({8, 1, "/", "fuseblk", "/dev/sda1"}));  // NTFS: a disk, not a FUSE connection
}

TEST_CASE("malformed lines are skipped") {
  CHECK(parse_mounts("").empty());
  CHECK(parse_mounts("nonsense\n1 2 3:x / / rw - a b c\n1 2 3 / / rw - a b c\n").empty());
  CHECK(parse_mounts("1 2 3:4 / / rw\n1 2 3:4 / / rw - squashfs\n").empty());
  CHECK(parse_mounts("1 2 3:4 / /\\400\\08 rw - t s o\n")[0].folder == "/\\400\\08");
}

}  // namespace mount_table_test
