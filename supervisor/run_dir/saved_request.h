#pragma once
// The request that a run was started with, in the run directory, for a supervisor that takes over.
// The job's spec is the journal's first record; this copy serves if that one is damaged.

#include <string>

#include "supervisor/run_request.h"

namespace robustrun::supervisor {

struct SavedRequest {
  RunRequest request;
  std::string boot_id;   // of the machine whose clock the journal uses
  JobSpec spec;          // run_id empty: an older version wrote the file, and there is no spec
  template <class V>
  void fields(V& v) {
    v(1, "request", request);
    v(2, "boot_id", boot_id);
    v(3, "spec", spec);
  }
};

// Identifies this boot of this machine, and so its CLOCK_MONOTONIC; empty if the kernel has none.
[[nodiscard]] std::string boot_id();

// Writes `<run_directory>/request` (0600: it holds the workers' environment).
[[nodiscard]] base::Status save_request(const RunRequest& request);
[[nodiscard]] base::Result<SavedRequest> load_request(const std::string& run_directory);

}  // namespace robustrun::supervisor
