#pragma once
// Whether a standby worker may become the worker that is wanted now, and what it must be told for
// that. Pure.
//
// A process keeps for life what it was started with. So all of that is compared, and only the
// variables below may differ: what an attempt alone decides. Of those, one that a module read
// while it was imported beforehand must be the same, too: the module may have kept it.

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// What the process of a worker has from its first moment on.
struct Spawn {
  std::vector<std::string> argv;
  std::vector<std::string> environment;  // NAME=VALUE, complete
  std::string working_directory;
  std::string cpus, memory;  // as in ShimOptions
  int in_fd = -1;            // the same
  pid_t container = 0;       // the same
  wire::StreamRoute out = wire::StreamRoute::kDiscard;
  wire::StreamRoute err = wire::StreamRoute::kDiscard;
  friend bool operator==(const Spawn&, const Spawn&) = default;
};

inline constexpr std::array<std::string_view, 17> kAttemptVariables = {
    "RANK",
    "ROLE_RANK",
    "GROUP_RANK",
    "NODE_RANK",
    "WORLD_SIZE",
    "ROLE_WORLD_SIZE",
    "GROUP_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "TORCHELASTIC_RESTART_COUNT",
    "TORCHELASTIC_ERROR_FILE",
    "ROBUSTRUN_ATTEMPT",
    "ROBUSTRUN_INCARNATION",
    "ROBUSTRUN_RECORD",
    "ROBUSTRUN_SOCKET",
    "ROBUSTRUN_FLIGHT_SOCKET",
    "NCCL_RAS_ADDR",
};

// What a standby is started with, so that it can become a worker like `worker`: without the names
// of that one's own files, which belong to somebody alive.
Spawn standby_spawn(Spawn worker);

// The whole environment of `wanted` as changes to that of `standby`: NAME=VALUE sets, a bare NAME
// takes away. `read`: variables that its imports looked at. The error's text says what differs.
base::Result<std::vector<std::string>> become(const Spawn& standby, const Spawn& wanted,
                                              const std::vector<std::string>& read);

// Streams that workers share with the launcher would show at any time what imports print.
bool may_wait(const Spawn& worker);

// What a standby said of itself when it was ready (docs/formats/standby.md).
struct Ready {
  std::uint64_t memory_kb = 0;     // its share of memory, once it has imported
  std::vector<std::string> read;   // variables that the imports read
  std::string refusal;             // not empty: it cannot stand in for a fresh start, and why
  std::string differs;             // not empty: what is not as where its list was made
  struct Stamp {                   // of what its imports came from, taken before them
    std::string path;
    std::uint64_t inode = 0;
    std::int64_t modified_ns = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  std::vector<Stamp> stamps;
};
// kCorrupt: it is none.
base::Result<Ready> parse_ready(std::string_view message);
// The path whose stamp is another one by now; empty: none. Blocks as long as the disk does. `root`:
// of their paths, as this machine sees it; empty: its own.
std::string changed_path(const std::vector<Ready::Stamp>& stamps, const std::string& root = {});

// Whether `count` standbys of that size are within kStandbyMemoryShare of what is available, which
// was asked for while one of them was there already. False when it is not known.
bool fits(std::uint64_t memory_kb, std::size_t count, std::uint64_t available_kb);
// MemAvailable of /proc/meminfo's text; 0: not found.
std::uint64_t available_kb(std::string_view meminfo);

}  // namespace robustrun::agent
