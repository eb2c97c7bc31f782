#include "supervisor/run/remote_stop.h"

#include "supervisor/control/file.h"
#include "supervisor/run_dir/run_authority.h"
#include "wire/link/stop_call.h"

namespace robustrun::supervisor {
namespace {

base::Status call(const std::string& run_directory, const wire::StopRun& order) {
  const RunAuthority known = RR_TRY(load_authority(run_directory));
  const auto authority = RR_TRY(wire::Authority::from_pem(known.run_id, known.authority));
  return wire::call_to_stop(authority, known.endpoints, order);
}

}  // namespace

base::Status stop_remotely(const std::string& run_directory, const StopRequest& request) {
  return call(run_directory,
              {.signal = request.signal, .grace = request.grace, .host = this_host()});
}

base::Status reach_remotely(const std::string& run_directory) {
  return call(run_directory, {.signal = 0, .host = this_host()});
}

}  // namespace robustrun::supervisor
