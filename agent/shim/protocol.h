#pragma once
// Agent and shim: fixed-size records over a SOCK_SEQPACKET pair (the shim's descriptor 3), which
// is also the lifeline: when it closes, the shim kills its whole tree at once.
//
// The shim is one static, single-threaded program per worker: subreaper, parent-death signal
// SIGTERM; its worker is started in a session of its own with parent-death signal SIGKILL, so
// that every descendant ends up below the shim whatever it does. argv:
//     robustrun-shim [--cgroup=DIR] [--cpus=0-3,8] [--nice=N] -- PROGRAM ARGS…
// The shim's environment, working directory and descriptors 0 to 2 are the worker's. It leads its
// own session, never writes to descriptors 0 to 2, and exits 0 once nothing below it is left.
// Source of the recipe: catern/supervise's "filicide" and PR_SET_CHILD_SUBREAPER(2const).

#include <cstdint>

namespace robustrun::agent::shim {

inline constexpr int kControlFd = 3;

enum class Stage : std::int32_t { kNone, kControl, kCgroup, kAffinity, kFork, kSession, kExec };

// Agent → shim.
struct Order {
  enum class Kind : std::int32_t { kSignalGroup = 1, kKillTree = 2 };
  Kind kind;
  std::int32_t signal;   // kSignalGroup: sent to the worker's process group while it lives
};

// Shim → agent, in this order: Started or StartFailed; Exited; Gone.
struct Report {
  enum class Kind : std::int32_t { kStarted = 1, kStartFailed = 2, kExited = 3, kGone = 4 };
  Kind kind;
  std::int32_t pid;          // kStarted: the worker's; kGone: an unkillable pid, or 0
  Stage stage;               // kStartFailed
  std::int32_t os_errno;     // kStartFailed
  std::int32_t si_code;      // kExited: of waitid()
  std::int32_t si_status;    // kExited
  std::int32_t killed;       // kGone: descendants that had to be killed
  std::int32_t reserved;
  std::int64_t at_ns;        // CLOCK_MONOTONIC
};

}  // namespace robustrun::agent::shim
