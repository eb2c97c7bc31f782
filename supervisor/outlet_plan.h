#pragma once
// Where a run publishes metrics, events and incidents, for programs and for people
// (outlets/outlets.h). Plain data.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::supervisor {

// A target of notices about the run (--notify). The address is a secret, except for kMail.
struct NotifyTarget {
  enum class Kind : std::uint8_t { kSlack, kTeams, kWebhook, kNtfy, kMail };
  Kind kind = Kind::kWebhook;
  std::string address;  // an http(s) URL; for kMail a mail address
  template <class V>
  void fields(V& v) {
    v(1, "kind", kind);
    v(2, "address", address);
  }
};

struct NotifyPlan {
  std::vector<NotifyTarget> targets;
  base::Nanos stalled_after{};  // a notice is sent after this time without a step; 0: never
  std::string sendmail;  // absolute path; for kMail
  std::string authorities;  // file of certificate authorities; empty: the system's
  template <class V>
  void fields(V& v) {
    v(1, "targets", targets);
    v(2, "stalled_after", stalled_after);
    v(3, "sendmail", sendmail);
    v(4, "authorities", authorities);
  }
};

// What is done about a node that was evicted (--on-bad-node).
struct BadNodePlan {
  enum class Action : std::uint8_t { kNone, kCommand, kDrain, kComment };
  Action action = Action::kNone;
  // The command to run: the user's for kCommand, otherwise scontrol and "update". [0] is an
  // absolute path.
  std::vector<std::string> argv;
  std::string job;  // kComment: the Slurm job
  template <class V>
  void fields(V& v) {
    v(1, "action", action);
    v(2, "argv", argv);
    v(3, "job", job);
  }
};

struct OutletPlan {
  std::string metrics_address;           // numeric, to listen on; empty: no server
  std::uint16_t metrics_port = 0;        // 0: any free one
  std::string metrics_file;              // absolute path; empty: none
  std::string events_file;               // absolute path; empty: none
  int events_fd = -1;  // a descriptor of this process instead of the file; not saved
  std::vector<std::string> on_incident;  // argv, [0] an absolute path; empty: none
  NotifyPlan notify;
  BadNodePlan on_bad_node;
  std::string incidents_file;  // for the workers (docs/trackers.md); absolute path; empty: none
  template <class V>
  void fields(V& v) {
    v(1, "metrics_address", metrics_address);
    v(2, "metrics_port", metrics_port);
    v(3, "metrics_file", metrics_file);
    v(4, "events_file", events_file);
    v(5, "on_incident", on_incident);
    v(6, "notify", notify);
    v(7, "incidents_file", incidents_file);
    v(8, "on_bad_node", on_bad_node);
  }
};

}  // namespace robustrun::supervisor
