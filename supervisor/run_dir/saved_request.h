#pragma once
// The request with which a run was started, saved in the run directory for a supervisor that takes
// the run over. The job's spec is also in the journal's first record; the saved one is used if that
// record is damaged.

#include <string>

#include "base/core/clock.h"
#include "supervisor/run_request.h"

namespace robustrun::supervisor {

struct SavedRequest {
  RunRequest request;
  // Of the machine whose clock the journal uses, from /proc/sys/kernel/random/boot_id; empty: the
  // journal uses no machine's clock, or the id could not be read.
  std::string boot_id;
  JobSpec spec;  // unknown if its run_id is empty: an older version wrote the file
  template <class V>
  void fields(V& v) {
    v(1, "request", request);
    v(2, "boot_id", boot_id);
    v(3, "spec", spec);
  }
  // Whether the journal's times are those of this machine's clock since its last boot.
  [[nodiscard]] bool has_clock_of_this_boot() const;
};

// Writes `<run_directory>/request`. The file has the mode 0600, as it holds the workers'
// environment. `clock_ahead`: how far the run's clock is ahead of the machine's
// (continued_clock.h).
[[nodiscard]] base::Status save_request(const RunRequest& request, base::Nanos clock_ahead);
// Errors as of load_private() (private_file.h).
[[nodiscard]] base::Result<SavedRequest> load_request(const std::string& run_directory);

}  // namespace robustrun::supervisor
