#pragma once
// The parts of node_snapshot.h that block: for a thread of its pool, one at a time.

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

// What this node's workers ask for.
struct SnapshotWish {
  std::string cache, deps, interpreter, working_directory, run_id, path;
  std::vector<std::string> command, environment;
  WorkerHome home;  // where installers run, too
  base::Nanos ttl{};
  std::uint64_t cache_bytes_max = 0;  // of all snapshots together
  std::int64_t asked_s = 0;  // Unix time
  std::string what;  // for people
};
// `workers` as they are in `home`. kInvalidArgument: nothing can be installed there, as its
// processes are a container runtime's.
[[nodiscard]] base::Result<SnapshotWish> snapshot_wish(const wire::WorkerTemplate& workers,
                                                       const WorkerHome& home);

// Which snapshot that is.
struct SnapshotTarget {
  bootstrap::DepsKind kind = bootstrap::DepsKind::kCommand;
  bootstrap::SnapshotInputs inputs;
  std::string key;
  std::string minor;  // of the interpreter: 3.11
};
// `abi`: what abi_question() was answered; empty without an interpreter.
[[nodiscard]] base::Result<SnapshotTarget> find_target(const SnapshotWish& wish,
                                                       const std::string& abi);

// What is there, and whose turn it is.
struct SnapshotTurn {
  std::optional<bootstrap::Snapshot> found;  // made by now
  std::optional<bootstrap::LeaseHolder> own;  // nothing is there, and we build
  std::string builder;  // else: somebody else does; for people
};
// `now_s`: Unix time, `now` of a monotonic clock for `watch`, which follows the lease of others.
[[nodiscard]] base::Result<SnapshotTurn> take_turn(const SnapshotWish& wish,
                                                   const SnapshotTarget& target,
                                                   bootstrap::LeaseWatch& watch, base::Nanos now,
                                                   std::int64_t now_s);

// Whether it is young enough for this start.
[[nodiscard]] bool is_fresh(const bootstrap::Snapshot& snapshot, const SnapshotWish& wish,
                            std::int64_t now_s);

struct SnapshotBuild {
  bootstrap::SnapshotPlace place;
  std::vector<bootstrap::BuildStep> steps;
  std::string id;
  std::string unfinished;          // what mksquashfs writes
  std::vector<std::string> squash;  // empty: it is not on this machine
};
[[nodiscard]] base::Result<SnapshotBuild> prepare_build(const SnapshotWish& wish,
                                                        const SnapshotTarget& target,
                                                        const bootstrap::LeaseHolder& own);
// The unfinished file is whole: it becomes the snapshot, and old ones go.
[[nodiscard]] base::Result<bootstrap::Snapshot> finish_build(const SnapshotWish& wish,
                                                             const SnapshotTarget& target,
                                                             const SnapshotBuild& build,
                                                             std::int64_t now_s);

// A snapshot as a folder of this machine, held as long as the object lives.
struct OpenSnapshot {
  std::string tree;
  bootstrap::TreeFacts facts;
  base::Fd use;
  std::optional<bootstrap::MountFolder> folder;
  std::optional<bootstrap::SquashMount> mount;
  std::optional<bootstrap::SnapshotPlace> place;
  // Of a place that is still empty; the program fills it. Empty: there is nothing to do.
  std::vector<std::string> unpack;
};
// Mounted where that can be done and workers see it, else a place to unpack it to. kConflict:
// another process unpacks it right now; ask again.
[[nodiscard]] base::Result<OpenSnapshot> open_snapshot(const SnapshotWish& wish,
                                                       const SnapshotTarget& target,
                                                       const bootstrap::Snapshot& snapshot);
// Its place has all of it now.
base::Status fill_snapshot(OpenSnapshot& open, const std::string& minor);
// What was installed, where it was: no snapshot could be made of it.
[[nodiscard]] base::Result<OpenSnapshot> keep_place(SnapshotBuild build, const std::string& minor);
// Unmounts it. At the end of an agent: within kUnmountMax.
void close_snapshot(OpenSnapshot& open, const std::string& path);

}  // namespace robustrun::agent
