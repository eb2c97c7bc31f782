#pragma once
// Whether a standby worker can become a wanted worker, and how its environment must change. Pure,
// except changed_path().
//
// A process keeps what it was started with, so the two launch specs must be equal, except for the
// variables that depend on the attempt (kAttemptVariables). A variable that an imported module has
// read must be equal, too, because the module may have kept the value.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/node/worker_home.h"
#include "agent/spawn/launch_spec.h"
#include "base/core/result.h"

namespace robustrun::agent {

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

// The launch spec of a standby that can replace `worker`. Variables that name files of one worker
// are empty in it, because the worker that runs now still uses those files.
LaunchSpec standby_launch_spec(LaunchSpec worker);

// The environment of `wanted` as changes to that of `standby`: NAME=VALUE sets, a bare NAME unsets.
// `read`: variables that the standby's imports have read. The error's text says what differs.
base::Result<std::vector<std::string>> become(const LaunchSpec& standby, const LaunchSpec& wanted,
                                              const std::vector<std::string>& read);

// The environment of `standby` as changes to that of the template `made`, from which the standby is
// to be forked. As become(), but LOCAL_RANK may differ, too.
base::Result<std::vector<std::string>> fork_changes(const LaunchSpec& made,
                                                    const LaunchSpec& standby,
                                                    const std::vector<std::string>& read);

// Whether `worker` may have a standby. False if it inherits robustrun's own streams: the output of
// the standby's imports would appear there at any time.
bool may_wait(const LaunchSpec& worker);

// What a standby reports when it is ready (docs/formats/standby.md).
struct Ready {
  std::uint64_t memory_kb = 0;  // its own part of memory, after its imports
  std::vector<std::string> read;  // variables that its imports have read
  std::string refusal;  // not empty: why it must not be used
  std::string unforkable;  // of a template: not empty: why no standby can be forked from it
  // Not empty: how this node differs from the node where the list of modules was made. The standby
  // has then imported nothing and must not be used.
  std::string differs;
  // The state, before the imports, of one file or folder that they come from (interpreter,
  // pyvenv.cfg, a site-packages folder, the script).
  struct Stamp {
    std::string path;
    std::uint64_t inode = 0;
    std::int64_t modified_ns = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  std::vector<Stamp> stamps;
};
// kCorrupt: malformed.
base::Result<Ready> parse_ready(std::string_view message);
// The first path whose stamp has changed; empty: no path has changed. `home`: where the standbys
// run. Blocks as long as the disk does.
std::string changed_path(const std::vector<Ready::Stamp>& stamps, const WorkerHome& home = {});

// Whether `count` standbys of `memory_kb` each take together at most 1 / kStandbyMemoryShare of the
// memory that would be available without any. One of them existed when `available_kb` was measured,
// so its memory is added. False if `memory_kb` or `available_kb` is 0 (unknown).
bool fits(std::uint64_t memory_kb, std::size_t count, std::uint64_t available_kb);
// MemAvailable of /proc/meminfo's text; 0: missing.
std::uint64_t available_kb(std::string_view meminfo);

}  // namespace robustrun::agent
