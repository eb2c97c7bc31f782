#pragma once
// The request with which a run was started, saved in the run directory for a supervisor that takes
// the run over. The job's spec is also in the journal's first record; the saved one is used if that
// record is damaged.

#include <string>

#include "supervisor/run_request.h"

namespace robustrun::supervisor {

struct SavedRequest {
  RunRequest request;
  std::string boot_id;  // of the machine whose clock the journal uses
  JobSpec spec;  // unknown if its run_id is empty: an older version wrote the file
  template <class V>
  void fields(V& v) {
    v(1, "request", request);
    v(2, "boot_id", boot_id);
    v(3, "spec", spec);
  }
};

// Identifies this boot of this machine, and so its CLOCK_MONOTONIC. From
// /proc/sys/kernel/random/boot_id; empty if that cannot be read.
[[nodiscard]] std::string boot_id();

// Writes `<run_directory>/request`. The file has the mode 0600, as it holds the workers'
// environment.
[[nodiscard]] base::Status save_request(const RunRequest& request);
// Errors as of load_private() (private_file.h).
[[nodiscard]] base::Result<SavedRequest> load_request(const std::string& run_directory);

}  // namespace robustrun::supervisor
