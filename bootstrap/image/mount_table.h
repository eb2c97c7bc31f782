#pragma once
// Parses the mount table, /proc/self/mountinfo (proc_pid_mountinfo(5)). Pure.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace robustrun::bootstrap {

struct Mount {
  // Number of the file system's device. `major` is 0 if the file system is not on a disk; `minor`
  // of a FUSE file system is the number of its connection.
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  std::string folder;
  std::string type;  // squashfs, fuse, fuse.NAME …
  std::string source;
  bool operator==(const Mount&) const = default;
};

// Mounts in the kernel's order, the newest last. Malformed lines are skipped.
[[nodiscard]] std::vector<Mount> parse_mounts(std::string_view mountinfo);

// Mounts at and below `folder`, newest first: the order in which they can be unmounted.
[[nodiscard]] std::vector<Mount> mounts_below(const std::vector<Mount>& mounts,
                                              std::string_view folder);

[[nodiscard]] bool is_fuse(const Mount& mount);

// Unescapes a path of mountinfo, in which a space, tab, line break or backslash is a backslash and
// three octal digits. Anything else is unchanged.
[[nodiscard]] std::string unescaped_mount_path(std::string_view text);

}  // namespace robustrun::bootstrap
