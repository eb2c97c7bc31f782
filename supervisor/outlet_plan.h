#pragma once
// Where a run publishes metrics, events and incidents for other programs (outlets.h).

#include <cstdint>
#include <string>
#include <vector>

namespace robustrun::supervisor {

struct OutletPlan {
  std::string metrics_address;           // numeric, to listen on; empty: no server
  std::uint16_t metrics_port = 0;        // 0: any free one
  std::string metrics_file;              // absolute path; empty: none
  std::string events_file;               // absolute path; empty: none
  int events_fd = -1;  // instead of the file; not saved, as it is this process's
  std::vector<std::string> on_incident;  // argv, [0] an absolute path; empty: none
  template <class V>
  void fields(V& v) {
    v(1, "metrics_address", metrics_address);
    v(2, "metrics_port", metrics_port);
    v(3, "metrics_file", metrics_file);
    v(4, "events_file", events_file);
    v(5, "on_incident", on_incident);
  }
};

}  // namespace robustrun::supervisor
