#pragma once
// What an agent finds out about its machine before a run (preflight), as plain data: sent to the
// supervisor, kept in the journal and judged by the supervisor's core.
//
// Nothing here is trusted: each machine reports about itself. Texts are bytes of any length up to
// the message limit; code that shows them makes them printable and short.

#include <cstdint>
#include <limits>
#include <string>

#include "base/core/clock.h"
#include "base/core/gpu_facts.h"
#include "base/core/ids.h"

namespace robustrun::base {

// No limit (RLIM_INFINITY).
inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

// A file system, as statvfs(3) reports it.
struct Space {
  std::string path;          // the nearest existing folder, which was queried
  std::uint64_t total = 0;   // bytes
  std::uint64_t free = 0;    // bytes available to users
  std::string error;         // why nothing is known; empty: success
  template <class V>
  void fields(V& v) {
    v(1, "path", path);
    v(2, "total", total);
    v(3, "free", free);
    v(4, "error", error);
  }
};

// Limits (getrlimit(2)) with which workers start here. All but `open_files_hard` are soft limits.
struct UserLimits {
  std::uint64_t open_files = kUnlimited;
  std::uint64_t open_files_hard = kUnlimited;
  std::uint64_t locked_bytes = kUnlimited;
  std::uint64_t processes = kUnlimited;   // of the user, threads included; kUnlimited for root
  template <class V>
  void fields(V& v) {
    v(1, "open_files", open_files);
    v(2, "open_files_hard", open_files_hard);
    v(3, "locked_bytes", locked_bytes);
    v(4, "processes", processes);
  }
};

// Versions that the run's interpreter reports.
struct Software {
  bool asked = false;    // false: no interpreter to ask, as with an executable or an image
  std::string python;    // "3.11.2"
  std::string torch;     // "2.5.1+cu124"; empty: not installed
  std::string error;     // why nothing is known; empty: success
  bool missing = false;  // the interpreter itself is not on this machine
  template <class V>
  void fields(V& v) {
    v(1, "asked", asked);
    v(2, "python", python);
    v(3, "torch", torch);
    v(4, "error", error);
    v(5, "missing", missing);
  }
};

// The GPUs, as NVML reports them. A machine without NVML's library shows none.
struct Gpus {
  bool has_library = false;
  std::uint32_t count = 0;
  std::string driver;   // "550.54.15"
  std::string error;    // why nothing is known despite the library; empty: success
  template <class V>
  void fields(V& v) {
    v(1, "has_library", has_library);
    v(2, "count", count);
    v(3, "driver", driver);
    v(4, "error", error);
  }
};

struct NodeFacts {
  std::string missing;   // script, working directory or image that does not exist, in words
  Space disk;            // where log files go; without them the working directory
  Space shm;             // /dev/shm
  UserLimits limits;
  std::uint32_t rdma_devices = 0;
  Software software;
  Gpus gpus;
  GpuFacts probe;        // test results, if tests were requested
  template <class V>
  void fields(V& v) {
    v(1, "missing", missing);
    v(2, "disk", disk);
    v(3, "shm", shm);
    v(4, "limits", limits);
    v(5, "rdma_devices", rdma_devices);
    v(6, "software", software);
    v(7, "gpus", gpus);
    v(8, "probe", probe);
  }
};

// Why a peer was not reached.
enum class ReachFault : std::uint8_t {
  kRefused,    // its machine answers, but no process listens
  kTimeout,
  kNoRoute,
  kStranger,   // something other than the peer answers
  kOther,
};

// A peer that a node could not reach.
struct Unreached {
  NodeId peer;
  ReachFault fault = ReachFault::kOther;
  std::string how;   // "connection refused", "timeout after 3 s"
  template <class V>
  void fields(V& v) {
    v(1, "peer", peer);
    v(2, "fault", fault);
    v(3, "how", how);
  }
};

}  // namespace robustrun::base
