#pragma once
// Watches file systems that the job uses: whether each answers, has room and is writable. Covers
// those of the log folder, the working directory, the script, the interpreter, TMPDIR and /dev/shm.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/health/probe.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// Mount points of /proc/self/mountinfo, in its order; malformed lines are skipped. Pure.
[[nodiscard]] std::vector<std::string> parse_mountinfo(std::string_view text);

// The mount that contains `path`. Only compares names, so it cannot hang in a file system. Empty:
// unknown. Pure.
[[nodiscard]] std::string mount_of(const std::vector<std::string>& mounts, std::string_view path);

struct MountReading {
  std::uint64_t total = 0, free = 0;  // bytes; `free` is for an unprivileged user
  std::uint64_t files = 0, files_free = 0;  // both 0: the file system does not count files
  bool read_only = false;
  std::string error;  // why the reading failed ("Stale file handle"); empty: no error
  bool missing = false;  // the folder does not exist (`error` is set as well)
};

// True if less than 1 % of its files or of its space is free, or less than 5 % of its space and
// less than 1 GiB. Pure.
[[nodiscard]] bool is_nearly_full(const MountReading& reading);

// The findings from two readings; `before` is nullopt at the first reading. Pure.
[[nodiscard]] std::vector<wire::NodeHealth> mount_changes(const std::string& mount,
                                                          const std::optional<MountReading>& before,
                                                          const MountReading& now);

// At most kMountsWatchedMax probes, one per mount. `root` is put before /proc and before the
// folders.
[[nodiscard]] std::vector<WatchedProbe> mount_probes(const std::string& root,
                                                     const wire::WorkerTemplate& workers);

}  // namespace robustrun::agent
