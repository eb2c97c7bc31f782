#pragma once
// One worker, started afresh or from a standby, with its shim, its two captured streams, its
// progress record, its socket and its cgroup.
//
// Owned by the WorkerSet, on the agent's loop. Life: start() → WorkerStarted or
// WorkerStartFailed is sent → WorkerExited is sent as soon as the worker is dead, with its last
// stderr lines → `on_gone` once nothing of its tree is left and its output is written.

#include <functional>
#include <memory>

#include "agent/copies/memory_tier.h"
#include "agent/node/fault_target.h"
#include "agent/node/node_context.h"
#include "agent/spawn/attempt_dirs.h"
#include "agent/staging/hot_files.h"
#include "agent/standby/standby_set.h"
#include "agent/worker/control_socket.h"
#include "base/core/result.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

class Worker : public FaultTarget {
 public:
  struct Plan {
    StandbySet& standbys;            // one of them may become the worker
    HotFiles& hot_files;             // may ask it to list what it reads
    const wire::StartWorkers& start;
    const wire::WorkerSlot& slot;
    const AttemptPaths& paths;       // log files of the attempt
    std::string cpus;                // processors to bind to; empty: all
    unsigned usable_cpus = 1;        // for all workers of this node together
    std::string memory{};            // as ShimOptions::memory
    MemoryTier* copies = nullptr;    // null: it gets no memory for copies of its state
    ControlSocket::AwaitSaves await_saves{};  // waits for copies of earlier workers
    std::string ras_address{};       // for NCCL_RAS_ADDR; empty: the variable is left as it is
  };
  struct Gone {
    unsigned descendants_killed = 0;
    std::string unkillable;          // empty: none
    base::LocalRank local_rank{};
    bool has_failed_early = false;   // by itself, before its first step
  };
  using GoneHandler = std::function<void(const Gone&)>;

  // An error means that nothing runs and no handler will be called.
  static base::Result<std::unique_ptr<Worker>> start(NodeContext& node, const Plan& plan,
                                                     GoneHandler on_gone);
  virtual void signal(int signal) = 0;
  // Tells the worker the reason and the deadline, then signals its process group.
  virtual void stop(const wire::StopWorkers& order) = 0;
  virtual void kill() = 0;
  // Reads the progress record and reports what changed. True when the worker has done a step since
  // the last call.
  virtual bool report_progress() = 0;
  // Answers with one Observed, also when the worker is dead. `workers`: how many workers of this
  // node are asked, which the Observed repeats. If `question.evidence` is false, a stop waits for
  // the answer, for at most kLastLookMax (last_look.h). With `question.use_of` the Observed says 1,
  // and no stop waits.
  virtual void observe(const wire::Observe& question, std::uint32_t workers) = 0;
  // Whether an operation of the worker takes longer than its history explains (head_watch.h).
  [[nodiscard]] virtual bool has_overdue() const = 0;
  // From the next operation on, NCCL traces everything if `in_full`, otherwise only what is cheap.
  // Ranks that are always traced in full are not affected (event_choice.h).
  virtual void trace_in_full(bool in_full) = 0;
  // Whether the worker has NCCL communicators.
  [[nodiscard]] virtual bool uses_nccl() const = 0;
  // The last reading of the progress record; null: the worker has not begun, or is dead.
  [[nodiscard]] virtual const tracer::Reading* reading() const = 0;
  virtual void set_congested(bool congested) = 0;
  [[nodiscard]] virtual bool gone() const = 0;
  [[nodiscard]] virtual base::LocalRank local_rank() const = 0;
};

}  // namespace robustrun::agent
