#pragma once
// The protocol between agent and shim: fixed-size records over a SOCK_SEQPACKET pair (the shim's
// descriptor 3). The pair is also the lifeline: when it closes, the shim kills its whole tree.
//
// The shim is a static, single-threaded program, one per worker. It is a subreaper, so all
// descendants stay below it. Its parent-death signal is SIGTERM. It reports SIGTERM, SIGINT, SIGHUP
// and SIGQUIT from other processes to the agent: under torchrun a worker's parent is the launcher,
// and workers may ask the launcher to end the run. The worker is started in its own session with
// parent-death signal SIGKILL. argv:
//     robustrun-shim [--cgroup=DIR] [--cpus=0-3,8] [--memory=prefer:0-1 | --memory=bind:0-1]
//         [--files=N] [--container=PID] [--chdir=DIR] -- PROGRAM ARGS…
// The worker inherits the shim's environment and descriptors 0 to 2. The other settings (cgroup,
// processors, memory policy, soft limit of open descriptors (--files), container, working
// directory) apply to the worker alone. The shim leads its own session, never writes to descriptors
// 0 to 2, and exits with 0 once all processes below it are gone or cannot be killed. Sources:
// "filicide" in catern/supervise; PR_SET_CHILD_SUBREAPER(2const).

#include <cstdint>

namespace robustrun::agent::shim {

// --container=PID: the worker enters the user and mount namespaces of process PID. It is still the
// shim's child, so signals and exit status are the same as without a container.
//     robustrun-shim --hold
// is the process for which such namespaces are made: it writes its pid and a line feed to its
// standard output, and waits until it is killed.

// --template: the shim becomes PROGRAM by exec and supervises nothing. PROGRAM keeps descriptor 3;
// standby workers are forked from it (docs/formats/standby.md).
// --adopt=PID: the worker PID exists already. This process forked it and then became the shim by
// exec. The worker sets itself up; --cpus, --memory, --files, --chdir and --container are not used.

inline constexpr int kControlFd = 3;

// The step of a start that failed. kCgroup, kAffinity and kMemory are not fatal: they come with
// kStarted, and the worker runs without that setting.
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
  // Of kSignalGroup: for the worker's process group; of kSignalWorker: for the worker alone.
  std::int32_t signal;
};

// Shim → agent, in this order: kAdopted (only with --adopt); kStarted or kStartFailed; kExited
// (only after kStarted); kGone. kSignalled comes at any time.
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
  Stage stage;  // kStartFailed, kStarted: the step that failed, or kNone
  std::int32_t os_errno;  // why `stage` failed
  std::int32_t wait_code;  // kExited: si_code of waitid()
  std::int32_t wait_status;  // kExited: si_status of waitid()
  std::int32_t killed;  // kGone: descendants that had to be killed
  std::int32_t signal;  // kSignalled: the signal that the shim got
  std::int64_t at_ns;  // of the report, CLOCK_MONOTONIC
};

}  // namespace robustrun::agent::shim
