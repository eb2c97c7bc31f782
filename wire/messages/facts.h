#pragma once
// What an agent reports and the supervisor's core takes as it is: facts without a local rank.
//
// Messages (messages.h) and events of the journal (supervisor/core/types/) are the same structs
// here, so that numbers and names of their fields stand once. Numbers are never reused, enumerators
// are appended alone: both are on the wire and in journals. What a newer agent may send, and how
// long its texts may be, the supervisor checks before it journals a fact
// (supervisor/driver/translate.h). Standard library and base/core alone.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"

namespace robustrun::wire {

// ---- A node

// The node is taken back soon: its allocation ends (Slurm: preemption, time limit, scancel). The
// agent goes on, unless it was told to end by `signal`: then it leaves when its workers have been
// stopped (StopWorkers). Reported again on a new connection, and perhaps more than once.
struct NodeEnding {
  std::string why;
  std::int32_t signal = 0;  // that the agent got and leaves for; 0: it goes on
  template <class V>
  void fields(V& v) {
    v(1, "why", why);
    v(2, "signal", signal);
  }
};

struct NodeHealth {
  enum class Source : std::uint8_t {
    kKernel,  // its log
    kGpu,  // the driver's library
    kNetwork,
    kDisk,  // and mounted file systems
    kMemory,
    kProcessor,
    kClock,
  };
  Source source = Source::kKernel;
  std::string subject{};  // "GPU 3", "eth0", "/data"; printable, at most kHealthSubjectBytesMax
  std::string line{};  // what was read, printable, one line, at most kHealthLineBytesMax
  std::uint32_t xid = 0;  // NVIDIA's code of the error; 0: none
  bool over = false;  // it is well again
  template <class V>
  void fields(V& v) {
    v(1, "source", source);
    v(2, "subject", subject);
    v(3, "line", line);
    v(4, "xid", xid);
    v(5, "over", over);
  }
};
inline constexpr std::size_t kHealthSources = 7;

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

// In the order of a start; docs/startup.md says what belongs to which.
enum class StageName : std::uint8_t {
  kAllocate,  // asked for → the agent's process runs; the supervisor's, as the next
  kConnect,  // → its hello was accepted
  kImage,  // the agent's, as the next
  kEnvironment,
  kImports,  // a worker's, as those that follow: its process is made → the script has imported
  kProcessGroup,  // init_process_group
  kModel,  // → the first optimizer is made, less what the load took of that
  kLoad,  // of a checkpoint
  kFirstStep,  // → the first step is done
};
inline constexpr std::size_t kStageNames = 9;

// `Worker`: base::LocalRank in a node's report, whose times are by its clock; base::Rank in the
// supervisor's event, by the supervisor's clock. A worker's stage begins with the first rank of the
// node and ends with the last.
template <class Worker>
struct StageTimeOf {
  StageName stage = StageName::kAllocate;
  base::Nanos begin{};
  base::Nanos end{};  // 0: it had not ended
  base::Nanos took{};  // by the slowest rank; of one that goes on, until now
  std::optional<Worker> slowest{};  // of a worker's stage
  template <class V>
  void fields(V& v) {
    v(1, "stage", stage);
    v(2, "begin", begin);
    v(3, "end", end);
    v(4, "took", took);
    v(5, "slowest", slowest);
  }
};

// A number that a script reports, or that its output holds.
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

// Why workers are stopped, for themselves.
enum class StopReason : std::uint8_t { kNone, kRestart, kPreempt, kStop };

enum class OomKiller : std::uint8_t { kNo, kUnknown, kKernel, kCgroup };

// No worker of the attempt and no descendant of one is left on the node.
struct WorkersGone {
  base::Attempt attempt;
  std::uint32_t descendants_killed = 0;
  std::vector<std::string> unkillable;  // "pid 12 (python), D state in nfs_wait"
  std::vector<std::string> shm_removed;  // stale /dev/shm names
  bool saving = false;  // their copies in memory still are being saved: SavingOver follows
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
  std::string error;  // empty: it is marked, and no start takes it again
  template <class V>
  void fields(V& v) {
    v(1, "order", order);
    v(2, "error", error);
  }
};

// Between a rank and the node that keeps its copies.
struct CopyRoute {
  base::Rank rank;
  base::NodeId node;  // the other one
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
  base::Attempt made_in;  // whose workers made the copies, as the order says
  std::uint64_t order = 0;
  std::uint32_t saved = 0;  // copies that are on disk now and were not before
  std::vector<std::string> errors;  // for the log
  bool saving = false;  // it goes on: SavingOver follows
  template <class V>
  void fields(V& v) {
    v(1, "made_in", made_in);
    v(2, "order", order);
    v(3, "saved", saved);
    v(4, "errors", errors);
    v(5, "saving", saving);
  }
};

// What WorkersGone or HeldCopiesSaved reported to go on has ended, or is not waited for any more.
// From an agent whose template says `overlap_saves`; reported again on every connection.
struct SavingOver {
  base::Attempt made_in;  // as there: whose workers made the copies
  std::uint64_t order = 0;  // as SaveHeldCopies; 0: copies of the node's own workers
  template <class V>
  void fields(V& v) {
    v(1, "made_in", made_in);
    v(2, "order", order);
  }
};

// A rank's part in the last round (CopyRound) that it was told of.
struct RoundPart {
  enum class Stage : std::uint32_t {
    kReady = 1,  // it can hold copies, and has made some in this attempt
    kHeld = 2,  // it holds the one of `step`
    kKept = 3,  // which is at the peer, too
    kRefused = 4,  // for which the peer has no room
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
  bool at_peer = false;  // one, perhaps of an older step, in that of its peer
  std::uint64_t step = 0;  // of the newest complete one here; without `here` of that at the peer
  // None: an older agent, or there is no memory to hold copies; never in a journal.
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

// What the node's own ranks have. At once when anything but `step` of one changes, else at most
// once a second; nothing of ranks that have never copied anything.
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
