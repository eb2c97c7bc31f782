#pragma once
// Facts that an agent reports and that the supervisor's core takes unchanged. Reports that name a
// local rank are elsewhere, because the supervisor first translates local ranks to ranks.
// (StageTimeOf serves both forms.)
//
// These structs serve both as messages (messages.h) and as journal events (supervisor/core/types/),
// so that their fields are listed once. Field numbers are never reused and enumerators only
// appended: both are on the wire and in journals. Before the supervisor journals a fact, it
// replaces enumerators that it does not know and shortens texts and lists that are too long
// (supervisor/driver/translate.h). Includes only the standard library and base/core.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"

namespace robustrun::wire {

// ---- A node

// The node leaves the run soon: because its allocation ends (Slurm: preemption, time limit,
// scancel), or because its agent got a signal. After a signal the agent exits once its workers have
// been stopped (StopWorkers). Sent again on every new connection; may also come more than once on
// the same connection.
struct NodeEnding {
  std::string why;
  // the signal that ends the agent; 0: the allocation ends, and the agent continues
  std::int32_t signal = 0;
  template <class V>
  void fields(V& v) {
    v(1, "why", why);
    v(2, "signal", signal);
  }
};

struct NodeHealth {
  enum class Source : std::uint8_t {
    kKernel,  // the kernel's log
    kGpu,  // the library of the GPUs' driver
    kNetwork,
    kDisk,  // including mounted file systems
    kMemory,
    kProcessor,
    kClock,
    kUser,  // a user's order to evict the machine; never from an agent
    kScheduler,  // Slurm's plans for the machine, read by the supervisor; never from an agent
  };
  Source source = Source::kKernel;
  std::string subject{};  // "GPU 3", "eth0", "/data"; printable, at most kHealthSubjectBytesMax
  std::string line{};  // what was read, printable, one line, at most kHealthLineBytesMax
  std::uint32_t xid = 0;  // NVIDIA's error code; 0: none
  bool over = false;  // the problem has gone
  template <class V>
  void fields(V& v) {
    v(1, "source", source);
    v(2, "subject", subject);
    v(3, "line", line);
    v(4, "xid", xid);
    v(5, "over", over);
  }
};
// the sources that agents report: all but kUser and kScheduler
inline constexpr std::size_t kHealthSources = 7;

// The answer to ReservePort.
struct PortReserved {
  base::Attempt attempt;
  std::uint32_t port = 0;  // 0: no port could be reserved
  std::string error;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "port", port);
    v(3, "error", error);
  }
};

// ---- A start

// In the order of a start; docs/startup.md says what belongs to each stage.
enum class StageName : std::uint8_t {
  kAllocate,  // launch requested → the agent runs; timed by the supervisor
  kConnect,  // the agent runs → its Hello was accepted; timed by the supervisor
  kImage,  // an image is made available; timed by the agent
  kEnvironment,  // timed by the agent
  kImports,  // process created → the script has imported; of a worker, as all that follow
  kProcessGroup,  // init_process_group
  kModel,  // → the first optimizer exists, without the time of kLoad
  kLoad,  // a checkpoint is loaded
  kFirstStep,  // → the first step is done
};
inline constexpr std::size_t kStageNames = 9;

// How long one stage took on one node. `Worker`: base::LocalRank in a node's report, with times of
// the node's clock; base::Rank in the supervisor's event, with times of the supervisor's clock.
// Stages of workers (from kImports on) begin when the node's first rank begins them, and end when
// the node's last rank has ended them.
template <class Worker>
struct StageTimeOf {
  StageName stage = StageName::kAllocate;
  base::Nanos begin{};
  base::Nanos end{};  // 0: not ended yet
  // Of a stage of workers: the time of the slowest rank. If the stage has not ended: until now.
  base::Nanos took{};
  std::optional<Worker> slowest{};  // of a stage of workers
  template <class V>
  void fields(V& v) {
    v(1, "stage", stage);
    v(2, "begin", begin);
    v(3, "end", end);
    v(4, "took", took);
    v(5, "slowest", slowest);
  }
};

// A number that a script reports, or that was found in its output.
struct Metric {
  std::string name;
  double value = 0;
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "value", value);
  }
};

// ---- The end of workers

// Why workers are stopped. The agent passes the reason on to them.
enum class StopReason : std::uint8_t { kNone, kRestart, kPreempt, kStop };

// Whether the kernel killed the worker for want of memory: of the machine (kKernel) or of the
// worker's cgroup (kCgroup).
enum class OomKiller : std::uint8_t { kNo, kUnknown, kKernel, kCgroup };

// No worker of the attempt and no descendant of one is left on the node, except those in
// `unkillable`.
struct WorkersGone {
  base::Attempt attempt;
  std::uint32_t descendants_killed = 0;
  std::vector<std::string> unkillable;  // "pid 12 (python), D state in nfs_wait"
  std::vector<std::string> shm_removed;  // stale /dev/shm names
  bool saving = false;  // copies in memory are still being saved: SavingOver follows
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "descendants_killed", descendants_killed);
    v(3, "unkillable", unkillable);
    v(4, "shm_removed", shm_removed);
    v(5, "saving", saving);
  }
};

// ---- Checkpoints and copies in memory

// The answer to DemoteCheckpoint.
struct CheckpointDemoted {
  std::uint64_t order = 0;
  std::string error;  // empty: the checkpoint is marked
  template <class V>
  void fields(V& v) {
    v(1, "order", order);
    v(2, "error", error);
  }
};

// A half-written checkpoint of a trainer, moved aside before the attempt's workers start
// (--checkpoints). Sent if WorkerTemplate::tell_moved is set.
struct CheckpointMoved {
  base::Attempt attempt;  // the attempt that is about to begin
  // Both printable, at most kMovedPathBytesMax bytes each, and relative to the workers' working
  // directory if the glob of --checkpoints is relative.
  std::string path;
  std::string moved_to;
  std::string evidence;  // "no trainer_state.json; attempt 0 was writing it"
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "path", path);
    v(3, "moved_to", moved_to);
    v(4, "evidence", evidence);
  }
};

// Where a rank's copies go or come from. Told to one of two nodes: the rank's own node, or the
// keeper (which holds the rank's copies in memory).
struct CopyRoute {
  base::Rank rank;
  base::NodeId node;  // the other of the two nodes
  base::Generation generation;
  std::string endpoint;  // Hello::bulk of `node`
  template <class V>
  void fields(V& v) {
    v(1, "rank", rank);
    v(2, "node", node);
    v(3, "generation", generation);
    v(4, "endpoint", endpoint);
  }
};

// The answer to SaveHeldCopies.
struct HeldCopiesSaved {
  base::Attempt made_in;  // SaveHeldCopies::attempt
  std::uint64_t order = 0;
  std::uint32_t saved = 0;  // copies that this order saved to disk
  std::vector<std::string> errors;  // for the log
  bool saving = false;  // saving continues: SavingOver follows
  template <class V>
  void fields(V& v) {
    v(1, "made_in", made_in);
    v(2, "order", order);
    v(3, "saved", saved);
    v(4, "errors", errors);
    v(5, "saving", saving);
  }
};

// The saving that WorkersGone or HeldCopiesSaved announced has ended, or the agent no longer waits
// for it. Sent if WorkerTemplate::overlap_saves is set, and again on every new connection.
struct SavingOver {
  base::Attempt made_in;  // the attempt whose workers made the copies
  std::uint64_t order = 0;  // from SaveHeldCopies; 0: copies of the node's own workers
  template <class V>
  void fields(V& v) {
    v(1, "made_in", made_in);
    v(2, "order", order);
  }
};

// A rank's progress in the latest round (CopyRound) that its agent knows of.
struct RoundPart {
  enum class Stage : std::uint32_t {
    kReady = 1,  // the rank can hold copies and has made some in this attempt
    kHeld = 2,  // the rank holds the copy of `step`
    kKept = 3,  // the keeper has that copy, too
    kRefused = 4,  // the keeper has no room for that copy
  };
  Stage stage = Stage::kReady;
  std::uint64_t round = 0;  // 0: none
  std::uint64_t step = 0;
  bool operator==(const RoundPart&) const = default;
  template <class V>
  void fields(V& v) {
    v(1, "stage", stage);
    v(2, "round", round);
    v(3, "step", step);
  }
};

// Where copies of one rank are.
struct KeptCopy {
  base::Rank rank;
  bool here = false;  // the rank's own node has a complete copy in memory
  bool at_peer = false;  // the keeper has a complete copy in memory, perhaps of an older step
  // of the newest complete copy on the rank's own node; if `here` is false, on the keeper
  std::uint64_t step = 0;
  // None: the agent's version does not report it, the rank cannot hold copies, or the rank has made
  // no copy yet in this attempt. Always none in a journal.
  std::optional<RoundPart> part{};
  bool operator==(const KeptCopy&) const = default;
  template <class V>
  void fields(V& v) {
    v(1, "rank", rank);
    v(2, "here", here);
    v(3, "at_peer", at_peer);
    v(4, "step", step);
    v(5, "part", part);
  }
};

// The copies of the node's own ranks. Sent at once if anything but a `step` has changed, otherwise
// at most once a second. Omits ranks that have no complete copy anywhere.
struct CopiesKept {
  base::Attempt attempt;
  std::vector<KeptCopy> copies;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "copies", copies);
  }
};

}  // namespace robustrun::wire
