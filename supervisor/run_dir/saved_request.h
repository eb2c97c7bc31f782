#pragma once
// What the first supervisor of a run was asked for, in the run directory, for the next one. The
// job's spec is not part of it: that is the journal's first record.

#include <string>

#include "supervisor/run_request.h"

namespace robustrun::supervisor {

struct SavedRequest {
  RunRequest request;
  std::string boot_id;   // of the machine whose clock the journal's times are of
  template <class V>
  void fields(V& v) {
    v(1, "request", request);
    v(2, "boot_id", boot_id);
  }
};

// This boot of this machine: its CLOCK_MONOTONIC; empty where the kernel does not tell.
[[nodiscard]] std::string boot_id();

// Into `<run_directory>/request`, 0600: it holds the workers' environment.
[[nodiscard]] base::Status save_request(const RunRequest& request);
[[nodiscard]] base::Result<SavedRequest> load_request(const std::string& run_directory);

}  // namespace robustrun::supervisor
