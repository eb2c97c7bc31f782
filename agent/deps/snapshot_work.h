#pragma once
// The blocking parts of NodeSnapshot (node_snapshot.h), which calls them on a thread, one at a
// time.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/node/worker_home.h"
#include "base/core/clock.h"
#include "base/core/result.h"
#include "bootstrap/deps/build.h"
#include "bootstrap/deps/inputs.h"
#include "bootstrap/deps/lease.h"
#include "bootstrap/deps/place.h"
#include "bootstrap/deps/store.h"
#include "bootstrap/image/mount_folder.h"
#include "bootstrap/image/squash_mount.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

// The dependencies that this node's workers ask for.
struct SnapshotWish {
  std::string cache, deps, interpreter, working_directory, run_id;
  std::string path;  // the workers' PATH, in which tools are looked up
  std::vector<std::string> command, environment;
  WorkerHome home;  // where workers and installers run
  base::Nanos ttl{};  // an older snapshot is made again, unless its inputs are pinned
  std::uint64_t cache_bytes_max = 0;  // for all snapshots together
  std::int64_t asked_s = 0;  // when this node began to prepare them; Unix time
  std::string what;  // the dependencies in words
};
// Does not set `asked_s`. kInvalidArgument: nothing can be installed in `home`, because a container
// runtime (apptainer, enroot) starts its processes.
[[nodiscard]] base::Result<SnapshotWish> snapshot_wish(const wire::WorkerTemplate& workers,
                                                       const WorkerHome& home);

// The snapshot that satisfies a wish.
struct SnapshotTarget {
  bootstrap::DepsKind kind = bootstrap::DepsKind::kCommand;
  bootstrap::SnapshotInputs inputs;
  std::string key;
  std::string minor;  // version of the interpreter: 3.11
};
// `abi`: the answer to abi_question(); empty without an interpreter.
[[nodiscard]] base::Result<SnapshotTarget> find_target(const SnapshotWish& wish,
                                                       const std::string& abi);

// The outcome of one look into the cache.
struct SnapshotTurn {
  std::optional<bootstrap::Snapshot> found;  // exists, and is_fresh()
  // There is no fresh snapshot; this node has taken the lease and is to build one.
  std::optional<bootstrap::LeaseHolder> own;
  // Otherwise: the job that holds the lease, in words. Empty: its lease has just ended; look again.
  std::string builder;
};
// Looks for the snapshot, and tries to take the lease if no fresh snapshot exists. `now_s`: Unix
// time. `now`: monotonic time, for `watch`, which detects a stale lease.
[[nodiscard]] base::Result<SnapshotTurn> take_turn(const SnapshotWish& wish,
                                                   const SnapshotTarget& target,
                                                   bootstrap::LeaseWatch& watch, base::Nanos now,
                                                   std::int64_t now_s);

// Whether the snapshot is recent enough for this start. `now_s`: Unix time.
[[nodiscard]] bool is_fresh(const bootstrap::Snapshot& snapshot, const SnapshotWish& wish,
                            std::int64_t now_s);

// An installation that is to run in `place`.
struct SnapshotBuild {
  bootstrap::SnapshotPlace place;
  std::vector<bootstrap::BuildStep> steps;
  std::string id;  // bootstrap::Snapshot::id
  std::string unfinished;  // the file that mksquashfs writes
  std::vector<std::string> squash;  // argv of mksquashfs; empty: it is not installed here
};
// Makes and locks an empty place, and plans the installation. `own`: the lease that this node
// holds.
[[nodiscard]] base::Result<SnapshotBuild> prepare_build(const SnapshotWish& wish,
                                                        const SnapshotTarget& target,
                                                        const bootstrap::LeaseHolder& own);
// Turns the file that mksquashfs has written into the snapshot, and removes the longest unused ones
// beyond `cache_bytes_max`.
[[nodiscard]] base::Result<bootstrap::Snapshot> finish_build(const SnapshotWish& wish,
                                                             const SnapshotTarget& target,
                                                             const SnapshotBuild& build,
                                                             std::int64_t now_s);

// A snapshot as a folder of this machine. It is not removed while this object lives.
struct OpenSnapshot {
  std::string tree;  // absolute path of the folder
  bootstrap::TreeFacts facts;
  base::Fd use;
  std::optional<bootstrap::MountFolder> folder;
  std::optional<bootstrap::SquashMount> mount;
  std::optional<bootstrap::SnapshotPlace> place;
  std::vector<std::string> unpack;  // argv of the program that is to fill `place`; empty: none
};
// Mounts the snapshot if that works and workers see the mount. Otherwise uses an unpacked copy, or
// chooses a place for one and sets `unpack`. kConflict: another process is unpacking it; try again.
[[nodiscard]] base::Result<OpenSnapshot> open_snapshot(const SnapshotWish& wish,
                                                       const SnapshotTarget& target,
                                                       const bootstrap::Snapshot& snapshot);
// Call when `unpack` has filled the place of `open`: marks the place as complete.
base::Status fill_snapshot(OpenSnapshot& open, const std::string& minor);
// Lets workers use the installed files where they are, because no snapshot could be made of them.
[[nodiscard]] base::Result<OpenSnapshot> keep_place(SnapshotBuild build, const std::string& minor);
// Unmounts the snapshot and removes the folder of the mount. `path`: SnapshotWish::path. Blocks;
// each step that may hang is given up after kUnmountMax.
void close_snapshot(OpenSnapshot& open, const std::string& path);

}  // namespace robustrun::agent
