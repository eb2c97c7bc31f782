#pragma once
// File systems that the job writes to or reads from: does each answer, has it room, is it writable?
// Covers the log folder, the working directory, the script, the interpreter, TMPDIR and /dev/shm,
// each file system once.

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

// The mount that `path` lies on, by its name alone, so that no file system is asked. Empty:
// unknown.
[[nodiscard]] std::string mount_of(const std::vector<std::string>& mounts, std::string_view path);

struct MountReading {
  std::uint64_t total = 0, free = 0;  // bytes; free for an unprivileged user
  std::uint64_t files = 0, files_free = 0;  // 0 of 0: not counted by the file system
  bool read_only = false;
  std::string error;  // why it could not be asked ("Stale file handle"); empty: no error
  bool missing = false;  // the error is that the folder does not exist
};

// Less than 1 % of its room or of its files is left, or less than 1 GiB and 5 % of its room. Pure.
[[nodiscard]] bool is_nearly_full(const MountReading& reading);

// The findings from two readings; `before`: none at the first reading of the folder. Pure.
[[nodiscard]] std::vector<wire::NodeHealth> mount_changes(const std::string& mount,
                                                          const std::optional<MountReading>& before,
                                                          const MountReading& now);

// At most kMountsWatchedMax probes, one per mount. `root` is put before /proc and the folders.
[[nodiscard]] std::vector<WatchedProbe> mount_probes(const std::string& root,
                                                     const wire::WorkerTemplate& workers);

}  // namespace robustrun::agent
