#include "supervisor/run/remote_stop.h"

#include "supervisor/control/file.h"
#include "supervisor/run_dir/run_authority.h"
#include "wire/link/stop_call.h"

namespace robustrun::supervisor {

base::Status stop_remotely(const std::string& run_directory, const StopRequest& request) {
  const RunAuthority known = RR_TRY(load_authority(run_directory));
  const auto authority = RR_TRY(wire::Authority::from_pem(known.run_id, known.authority));
  return wire::call_to_stop(
      authority, known.endpoints,
      {.signal = request.signal, .grace = request.grace, .host = this_host()});
}

}  // namespace robustrun::supervisor
