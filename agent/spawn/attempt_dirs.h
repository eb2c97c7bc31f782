#pragma once
// The folders and file names of one attempt's logs on this node (docs/compat.md):
//     <log_directory>/attempt_<N>/<local_rank>/{stdout.log,stderr.log,error.json}
//
// An attempt_<N> that exists already is, in native mode, kept as attempt_<N>.cycle_<M>; in compat
// mode it is removed as torchrun does, never following a symbolic link out of it.

#include <string>
#include <vector>

#include "base/core/ids.h"
#include "base/core/result.h"

namespace robustrun::agent {

struct WorkerPaths {
  std::string stdout_log;
  std::string stderr_log;
  std::string error_file;
};

struct AttemptPaths {
  std::string directory;
  std::string filtered_stdout;  // --duplicate-stdout-filters, shared by all workers of the node
  std::string filtered_stderr;
};

// Makes the folders, those of `ranks` included. All paths are empty when `log_directory` is.
base::Result<AttemptPaths> make_attempt_dirs(const std::string& log_directory,
                                             base::Attempt attempt,
                                             const std::vector<base::LocalRank>& ranks,
                                             bool compat);
// Pure: where one worker of that attempt writes. Empty paths for an empty `attempt_directory`.
WorkerPaths worker_paths(const std::string& attempt_directory, base::LocalRank rank);

}  // namespace robustrun::agent
