#pragma once
// A run's authority over its agents: the run's certificate authority, by which agents recognize the
// supervisor; the join token; and where the supervisor listens. It is saved in the run directory
// for a supervisor that takes the run over.

#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::supervisor {

struct RunAuthority {
  std::string run_id;  // the run that agents ask to join
  std::string authority;  // wire::Authority::to_pem(): a secret
  std::string token;  // join token: a secret; empty: any host may join
  std::uint32_t port = 0;  // of the control channel
  std::vector<std::string> endpoints;  // numeric, with that port
  template <class V>
  void fields(V& v) {
    v(1, "run_id", run_id);
    v(2, "authority", authority);
    v(3, "token", token);
    v(4, "port", port);
    v(5, "endpoints", endpoints);
  }
};

// Writes `<run_directory>/authority` (0600), the whole file or nothing.
[[nodiscard]] base::Status save_authority(const std::string& run_directory,
                                          const RunAuthority& authority);
// kNotFound, kCorrupt. kPermission: the file is another user's, or other users may use it.
[[nodiscard]] base::Result<RunAuthority> load_authority(const std::string& run_directory);

}  // namespace robustrun::supervisor
