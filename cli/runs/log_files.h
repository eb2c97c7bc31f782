#pragma once
// Where the workers of an attempt wrote their output. Pure; `exists` tells whether this machine has
// a path.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "supervisor/core/report/report.h"

namespace robustrun::cli {

struct RankLog {
  std::uint32_t rank = 0;
  std::string host;
  std::string folder;  // holds stdout.log and stderr.log (agent/spawn/attempt_dirs.h)
};

struct AttemptLogs {
  std::uint32_t attempt = 0;
  std::vector<RankLog> ranks;  // in order of rank
};

// Why there is no file in log.folder. `has_folder`: this machine has the folder.
[[nodiscard]] std::string no_log_words(const RankLog& log, bool has_folder);

// The logs of `attempt`, or of the last attempt if `attempt` has no value. On several nodes each
// node has a folder of its own below the log directory; `exists` tells which layout the run has.
// kNotFound: the run has no log directory, no worker or no such attempt, or the journal has lost
// its first record.
[[nodiscard]] base::Result<AttemptLogs> logs_of(
    const std::vector<supervisor::JournalEntry>& journal, std::optional<std::uint32_t> attempt,
    const std::function<bool(const std::string& path)>& exists);

}  // namespace robustrun::cli
