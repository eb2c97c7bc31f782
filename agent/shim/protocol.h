#pragma once
// Agent and shim: fixed-size records over a SOCK_SEQPACKET pair (the shim's descriptor 3), which
// is also the lifeline: when it closes, the shim kills its whole tree at once.
//
// The shim is one static, single-threaded program per worker: subreaper, parent-death signal
// SIGTERM. SIGTERM, SIGINT, SIGHUP and SIGQUIT that another process sends while the agent lives are
// passed on to the agent: under torchrun a worker's parent is the launcher, which workers may ask
// to end the run. The worker is started in a session of its own with parent-death signal SIGKILL.
// Every descendant ends up below the shim whatever it does, because the shim is a subreaper. argv:
//     robustrun-shim [--cgroup=DIR] [--cpus=0-3,8] [--memory=prefer:0-1 | --memory=bind:0-1]
//         [--files=N] [--container=PID] [--chdir=DIR] -- PROGRAM ARGS…
// The shim's environment and descriptors 0 to 2 are the worker's; cgroup, processors, memory
// policy, the soft limit of open descriptors (--files) and the working directory are given to the
// worker alone. The shim leads its own session, never writes to descriptors 0 to 2, and exits 0
// once nothing below it is left but what cannot be killed. Source of the recipe: catern/supervise's
// "filicide" and PR_SET_CHILD_SUBREAPER(2const).

#include <cstdint>

namespace robustrun::agent::shim {

// --container: the worker alone enters the user and mount namespaces of that process, and stays the
// shim's own child: its signals and its end are the same as without a container.
//     robustrun-shim --hold
// is the process for which such namespaces are made: it writes its pid and a line feed to its
// standard output, and waits until it is killed.

// --template: becomes PROGRAM itself, which keeps descriptor 3 and from which standby workers are
// forked (docs/formats/standby.md); nothing is supervised or reported.
// --adopt=PID: the worker exists already: this process forked it before it became the shim by exec.
// It sets itself up; --cpus, --memory, --files, --chdir and --container are not used.

inline constexpr int kControlFd = 3;

// The step at which the start failed. kCgroup, kAffinity and kMemory are never fatal: they come
// with kStarted and say what the worker runs without.
enum class Stage : std::int32_t {
  kNone,
  kCgroup,
  kAffinity,
  kFork,
  kSession,
  kDirectory,
  kExec,
  kMemory,
  kContainer,
};

// Agent → shim.
struct Order {
  enum class Kind : std::int32_t { kSignalGroup = 1, kKillTree = 2, kSignalWorker = 3 };
  Kind kind;
  // kSignalGroup: sent to the worker's process group while it lives; kSignalWorker: to it alone.
  std::int32_t signal;
};

// Shim → agent, in this order: Adopted (with --adopt alone); Started or StartFailed; Exited (after
// Started only); Gone. Signalled at any time.
struct Report {
  enum class Kind : std::int32_t {
    kStarted = 1,
    kStartFailed = 2,
    kExited = 3,
    kGone = 4,
    kSignalled = 5,
    kAdopted = 6,
  };
  Kind kind;
  std::int32_t pid;  // kAdopted: the shim's; kStarted: the worker's; kGone: an unkillable pid, or 0
  Stage stage;  // kStartFailed; kStarted: what the worker runs without
  std::int32_t os_errno;  // belongs to `stage`
  std::int32_t wait_code;  // kExited: si_code of waitid()
  std::int32_t wait_status;  // kExited: si_status of waitid()
  std::int32_t killed;  // kGone: descendants that had to be killed
  std::int32_t signal;  // kSignalled: the signal that the shim got
  std::int64_t at_ns;  // CLOCK_MONOTONIC
};

}  // namespace robustrun::agent::shim
