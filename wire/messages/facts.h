#pragma once
// Facts that an agent reports and that the supervisor's core takes unchanged. Reports that name a
// local rank are not here, as the driver first translates it to a rank (but StageTimeOf serves
// both).
//
// These structs serve both as messages (messages.h) and as journal events (supervisor/core/types/),
// so that their fields are listed once. Field numbers are never reused and enumerators only
// appended: both are on the wire and in journals. Before a fact is journaled, the supervisor checks
// for values of newer agents and for the lengths of texts (supervisor/driver/translate.h). Includes
// only the standard library and base/core.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"

namespace robustrun::wire {

// ---- A node

// The node leaves the run soon. With `signal` 0, because its allocation ends (Slurm: preemption,
// time limit, scancel): the agent continues. Else because its agent got that signal: it exits when
// its workers have been stopped (StopWorkers). Sent again on every new connection, and possibly
// more than once.
struct NodeEnding {
  std::string why;
  std::int32_t signal = 0;  // the signal that ends the agent; 0: the agent continues
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
    kDisk,  // and mounted file systems
    kMemory,
    kProcessor,
    kClock,
    kUser,  // an order to evict the machine: from the supervisor's control socket, not an agent
    kScheduler,  // Slurm's plans for the machine: from the supervisor, not an agent
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
inline constexpr std::size_t kHealthSources = 7;  // sources of agents: all but the last two

// The answer to ReservePort.
struct PortReserved {
  base::Attempt attempt;
  std::uint32_t port = 0;  // 0: failed
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
  kAllocate,  // launch requested → the agent runs; timed by the supervisor, as kConnect
  kConnect,  // → its hello was accepted
  kImage,  // timed by the agent, as kEnvironment
  kEnvironment,
  kImports,  // a worker's, as all that follow: process created → the script has imported
  kProcessGroup,  // init_process_group
  kModel,  // → the first optimizer exists, less the part taken by kLoad
  kLoad,  // of a checkpoint
  kFirstStep,  // → the first step is done
};
inline constexpr std::size_t kStageNames = 9;

// `Worker`: base::LocalRank in a node's report, with times of the node's clock; base::Rank in the
// supervisor's event, with times of the supervisor's clock. A worker's stage begins when the node's
// first rank begins it, and ends when its last rank has ended it.
template <class Worker>
struct StageTimeOf {
  StageName stage = StageName::kAllocate;
  base::Nanos begin{};
  base::Nanos end{};  // 0: not ended yet
  // For a worker's stage: by the slowest rank. Until now, if the stage has not ended.
  base::Nanos took{};
  std::optional<Worker> slowest{};  // for a worker's stage
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

// Why workers are stopped; passed on to them.
enum class StopReason : std::uint8_t { kNone, kRestart, kPreempt, kStop };

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
  std::string error;  // empty: it is marked, and no start loads it again
  template <class V>
  void fields(V& v) {
    v(1, "order", order);
    v(2, "error", error);
  }
};

// A half-written checkpoint of a trainer, moved aside before the attempt's workers start
// (--checkpoints). Sent if the template says `tell_moved`.
struct CheckpointMoved {
  base::Attempt attempt;  // about to begin
  // Both printable, relative to the workers' working directory if the glob is; at most
  // kMovedPathBytesMax each.
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

// The way between a rank and the node that keeps its copies, as one of the two nodes needs it.
struct CopyRoute {
  base::Rank rank;
  base::NodeId node;  // at the other end: the keeper or, for the keeper, the rank's own node
  base::Generation generation;
  std::string endpoint;  // its Hello::bulk
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
  base::Attempt made_in;  // the attempt whose workers made the copies, from the order
  std::uint64_t order = 0;
  std::uint32_t saved = 0;  // copies that this order brought to disk
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

// The saving that WorkersGone or HeldCopiesSaved announced has ended, or is not waited for any
// more. Sent if the template says `overlap_saves`, and again on every connection.
struct SavingOver {
  base::Attempt made_in;  // the attempt whose workers made the copies
  std::uint64_t order = 0;  // from SaveHeldCopies; 0: copies of the node's own workers
  template <class V>
  void fields(V& v) {
    v(1, "made_in", made_in);
    v(2, "order", order);
  }
};

// A rank's progress in the latest round (CopyRound) that it knows of.
struct RoundPart {
  enum class Stage : std::uint32_t {
    kReady = 1,  // it can hold copies and has made some in this attempt
    kHeld = 2,  // it holds the copy of `step`
    kKept = 3,  // that copy is at the peer, too
    kRefused = 4,  // the peer has no room for it
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

struct KeptCopy {
  base::Rank rank;
  bool here = false;  // a complete copy in the memory of its own node
  bool at_peer = false;  // a complete copy, perhaps of an older step, in its peer's memory
  std::uint64_t step = 0;  // of the newest complete copy here; if `here` is false, at the peer
  // None if the agent is older, has no memory to hold copies, or has made no copy yet in this
  // attempt. In a journal it is always none.
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

// The copies of the node's own ranks. Sent at once when anything but a `step` changes, else at most
// once a second; omits ranks that have no complete copy anywhere at present.
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
