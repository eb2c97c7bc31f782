#pragma once
// What proves to a run's agents that somebody is their supervisor: the run's CA, the token of its
// enrolments, and where the supervisor listens. In the run directory, 0600, for whoever takes the
// run over.

#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::supervisor {

struct RunAuthority {
  std::string run_id;                    // as agents say it
  std::string authority;                 // wire::Authority::to_pem(): a secret
  std::string token;                     // of enrolments: a secret; empty: everybody may enrol
  std::uint32_t port = 0;                // of the control channel
  std::vector<std::string> endpoints;    // numeric, with that port
  template <class V>
  void fields(V& v) {
    v(1, "run_id", run_id);
    v(2, "authority", authority);
    v(3, "token", token);
    v(4, "port", port);
    v(5, "endpoints", endpoints);
  }
};

// Into `<run_directory>/authority`, all or nothing, 0600.
[[nodiscard]] base::Status save_authority(const std::string& run_directory,
                                          const RunAuthority& authority);
// kNotFound, kCorrupt; kPermission when others could have written or read it.
[[nodiscard]] base::Result<RunAuthority> load_authority(const std::string& run_directory);

}  // namespace robustrun::supervisor
