#pragma once
// What is mounted where, as /proc/self/mountinfo tells it (proc_pid_mountinfo(5)). Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace robustrun::bootstrap {

struct Mount {
  std::uint32_t major = 0;  // of the file system's device; 0 where it has no disk,
  std::uint32_t minor = 0;  // and then the number of a FUSE connection
  std::string folder;
  std::string type;    // squashfs, fuse, fuse.NAME …
  std::string source;
  bool operator==(const Mount&) const = default;
};

// In the kernel's order, in which what was mounted later comes later. Lines that are none are left
// out.
[[nodiscard]] std::vector<Mount> parse_mounts(std::string_view mountinfo);

// What is mounted at `folder` and below it, the newest first: the order in which it can be undone.
[[nodiscard]] std::vector<Mount> mounts_below(const std::vector<Mount>& mounts,
                                              std::string_view folder);

[[nodiscard]] bool is_fuse(const Mount& mount);

// A path of mountinfo as it is: there a space, tab, line break or backslash is a backslash and
// three octal digits. Anything else is unchanged.
[[nodiscard]] std::string unescaped_mount_path(std::string_view text);

}  // namespace robustrun::bootstrap
