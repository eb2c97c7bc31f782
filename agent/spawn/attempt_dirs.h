#pragma once
// The folders and file names of one attempt's logs on this node (docs/compat.md):
//     <log_directory>/attempt_<N>/<local_rank>/{stdout.log,stderr.log,error.json}
//
// An attempt_<N> that already exists is kept as attempt_<N>.cycle_<M> in native mode. In compat
// mode it is removed, as torchrun does, without following symbolic links out of it.

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

// Creates the folders, including those of `ranks`. With an empty `log_directory` it creates nothing
// and returns empty paths.
base::Result<AttemptPaths> make_attempt_dirs(const std::string& log_directory,
                                             base::Attempt attempt,
                                             const std::vector<base::LocalRank>& ranks,
                                             bool compat);
// The files of one worker. Empty paths for an empty `attempt_directory`. Pure.
WorkerPaths worker_paths(const std::string& attempt_directory, base::LocalRank rank);

}  // namespace robustrun::agent
