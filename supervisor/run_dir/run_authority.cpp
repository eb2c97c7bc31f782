#include "supervisor/run_dir/run_authority.h"

#include "supervisor/run_dir/private_file.h"

namespace robustrun::supervisor {
namespace {

std::string authority_path(const std::string& run_directory) {
  return run_directory + "/authority";
}

}  // namespace

base::Status save_authority(const std::string& run_directory, const RunAuthority& authority) {
  return save_private(authority_path(run_directory), authority);
}

base::Result<RunAuthority> load_authority(const std::string& run_directory) {
  return load_private<RunAuthority>(authority_path(run_directory));
}

}  // namespace robustrun::supervisor
