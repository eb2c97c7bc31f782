#pragma once
// The blocking parts of node_snapshot.h: for a thread of its pool, one at a time.

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
  std::string path;  // the workers' PATH, on which tools are looked for
  std::vector<std::string> command, environment;
  WorkerHome home;  // installers run there as well
  base::Nanos ttl{};
  std::uint64_t cache_bytes_max = 0;  // for all snapshots together
  std::int64_t asked_s = 0;  // when the run asked; Unix time
  std::string what;  // what is asked for, in words
};
// `workers` are described as they are in `home`. kInvalidArgument: nothing can be installed there,
// because its processes are started by a container runtime.
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

// Which snapshot exists, and which node builds it.
struct SnapshotTurn {
  std::optional<bootstrap::Snapshot> found;  // it exists
  std::optional<bootstrap::LeaseHolder> own;  // it does not exist, and this node builds it
  // Else: the node that builds it, in words. Empty: a lease has just ended; ask again.
  std::string builder;
};
// `now_s`: Unix time. `now`: monotonic, for `watch`, which follows another node's lease.
[[nodiscard]] base::Result<SnapshotTurn> take_turn(const SnapshotWish& wish,
                                                   const SnapshotTarget& target,
                                                   bootstrap::LeaseWatch& watch, base::Nanos now,
                                                   std::int64_t now_s);

// Whether the snapshot is recent enough for this start.
[[nodiscard]] bool is_fresh(const bootstrap::Snapshot& snapshot, const SnapshotWish& wish,
                            std::int64_t now_s);

struct SnapshotBuild {
  bootstrap::SnapshotPlace place;
  std::vector<bootstrap::BuildStep> steps;
  std::string id;
  std::string unfinished;          // the file that mksquashfs writes
  std::vector<std::string> squash;  // its argv; empty: mksquashfs is not installed here
};
[[nodiscard]] base::Result<SnapshotBuild> prepare_build(const SnapshotWish& wish,
                                                        const SnapshotTarget& target,
                                                        const bootstrap::LeaseHolder& own);
// Turns the complete unfinished file into the snapshot, and removes old snapshots.
[[nodiscard]] base::Result<bootstrap::Snapshot> finish_build(const SnapshotWish& wish,
                                                             const SnapshotTarget& target,
                                                             const SnapshotBuild& build,
                                                             std::int64_t now_s);

// A snapshot as a folder of this machine, in use for as long as the object lives.
struct OpenSnapshot {
  std::string tree;
  bootstrap::TreeFacts facts;
  base::Fd use;
  std::optional<bootstrap::MountFolder> folder;
  std::optional<bootstrap::SquashMount> mount;
  std::optional<bootstrap::SnapshotPlace> place;
  // The argv that fills `place`, which is still empty; empty: nothing to do.
  std::vector<std::string> unpack;
};
// Mounts the snapshot where that is possible and workers see the mount; else chooses a place to
// unpack it to. kConflict: another process is unpacking it; ask again.
[[nodiscard]] base::Result<OpenSnapshot> open_snapshot(const SnapshotWish& wish,
                                                       const SnapshotTarget& target,
                                                       const bootstrap::Snapshot& snapshot);
// The place of `open` is filled.
base::Status fill_snapshot(OpenSnapshot& open, const std::string& minor);
// The installed files in their place, for when no snapshot could be made of them.
[[nodiscard]] base::Result<OpenSnapshot> keep_place(SnapshotBuild build, const std::string& minor);
// Unmounts it and removes the folder of the mount. `path`: as SnapshotWish::path. Blocks; each step
// that may hang has kUnmountMax.
void close_snapshot(OpenSnapshot& open, const std::string& path);

}  // namespace robustrun::agent
