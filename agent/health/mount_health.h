#pragma once
// File systems that the job writes to or reads from: does each answer, is there room, can it be
// written? Those of the log folder, the working directory, the script, the interpreter, TMPDIR and
// /dev/shm, each once.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/health/probe.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// Mount points of /proc/self/mountinfo, in its order. Pure; lines that make no sense are left out.
[[nodiscard]] std::vector<std::string> parse_mountinfo(std::string_view text);

// The mount that `path` lies on, by its name alone: nothing is asked that may not answer. Empty:
// none is known.
[[nodiscard]] std::string mount_of(const std::vector<std::string>& mounts, std::string_view path);

struct MountReading {
  std::uint64_t total = 0, free = 0;   // bytes; free for a user
  std::uint64_t files = 0, files_free = 0;  // 0 of 0: the file system does not count them
  bool read_only = false;
  std::string error;     // why it could not be asked ("Stale file handle"); empty: it could
  bool missing = false;  // the error is that there is no such folder
};

// Whether less than 1 % is left, or less than 1 GiB and 5 %. Pure.
[[nodiscard]] bool is_nearly_full(const MountReading& reading);

// Pure. `before`: none until the folder was there.
[[nodiscard]] std::vector<wire::NodeHealth> mount_changes(const std::string& mount,
                                                          const std::optional<MountReading>& before,
                                                          const MountReading& now);

// At most kMountsWatchedMax, one for each mount. `root` is put before /proc and the folders.
[[nodiscard]] std::vector<WatchedProbe> mount_probes(const std::string& root,
                                                     const wire::WorkerTemplate& workers);

}  // namespace robustrun::agent
