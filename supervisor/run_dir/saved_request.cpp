#include "supervisor/run_dir/saved_request.h"

#include "base/core/text.h"
#include "base/io/fd.h"
#include "supervisor/limits.h"
#include "supervisor/run_dir/private_file.h"

namespace robustrun::supervisor {
namespace {

std::string request_path(const std::string& run_directory) { return run_directory + "/request"; }

// Identifies this boot of this machine, and so its CLOCK_MONOTONIC; empty if it cannot be read.
std::string boot_id() {
  const auto text = base::read_file("/proc/sys/kernel/random/boot_id", kBootIdBytesMax);
  return text ? std::string(base::trim(*text)) : std::string();
}

}  // namespace

bool SavedRequest::has_clock_of_this_boot() const {
  return !boot_id.empty() && boot_id == supervisor::boot_id();
}

base::Status save_request(const RunRequest& request, base::Nanos clock_ahead) {
  const bool is_machines_clock = clock_ahead == base::Nanos{};
  return save_private(
      request_path(request.run_directory),
      SavedRequest{request, is_machines_clock ? boot_id() : std::string(), request.spec});
}

base::Result<SavedRequest> load_request(const std::string& run_directory) {
  auto saved = RR_TRY(load_private<SavedRequest>(request_path(run_directory)));
  saved.request.run_directory = run_directory;  // it may have another path on this host
  return saved;
}

}  // namespace robustrun::supervisor
