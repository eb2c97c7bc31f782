#pragma once
// All workers of the current attempt on this node.
//
// Owned by the NodeAgent, on its loop. Starts one worker per turn of the loop, stops them all
// (stop.h), cleans up after them (attempt_end.h), and sends WorkersGone when the attempt's
// processes are gone; WorkersGone names those that cannot be killed. If another attempt follows,
// copies in memory may still be saved while it starts; the new workers' loads and saves of
// checkpoints wait for that (saves_gate.h).

#include <functional>
#include <memory>

#include "agent/copies/memory_tier.h"
#include "agent/node/fault_target.h"
#include "agent/node/node_context.h"
#include "agent/staging/block_peers.h"
#include "agent/staging/stage_files.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

class WorkerSet {
 public:
  // `copies`: the workers' copies in memory, kept from attempt to attempt. `peers`: for blocks of
  // an image. All arguments outlive this object.
  WorkerSet(NodeContext& node, MemoryTier& copies, BlockPeers& peers, StageFiles& stage);
  ~WorkerSet();
  WorkerSet(const WorkerSet&) = delete;
  WorkerSet& operator=(const WorkerSet&) = delete;

  // Whether start() would obey `order`: it is newer than the last one, no workers of another
  // attempt are left, and kill_all() was not called.
  [[nodiscard]] bool takes(const wire::StartWorkers& order) const;
  // Starts the attempt's workers if takes(). A repeated order with `saving` unset opens the gate
  // for loads and saves.
  void start(wire::StartWorkers order);
  void stop(const wire::StopWorkers& order);
  void signal(const wire::SignalWorkers& order);
  // Sends `signal` to every worker of this node, whatever the attempt.
  void signal_all(int signal);
  // Keeps the standby workers that `order` asks for. No effect on a node that has workers.
  void keep_standbys(const wire::KeepStandbys& order);
  // Kills all workers and standbys at once. Calls `done` when all are gone and the workers' copies
  // are saved or given up.
  void kill_all(std::function<void()> done);
  // Calls `done` from the loop, never during this call, once WorkersGone of the current attempt was
  // sent, or soon if no attempt is under way.
  void when_gone(std::function<void()> done);
  // Stops the workers as a stop order does. No effect during a stop, or without workers.
  void stop_all(int signal, base::Nanos grace);
  void set_congested(bool congested);
  // True if a worker has begun or made a step since the last call.
  bool report_progress();
  // After a new connection, whose supervisor may be another one: workers repeat their progress.
  void tell_again();
  // Every worker sends an Observed; with Observe::use_of, only that worker does. With Observe::ras
  // a RasAnswer follows. Ignores questions about another attempt.
  void observe(const wire::Observe& question);
  // A worker of the current attempt; nullptr: no such worker.
  [[nodiscard]] FaultTarget* fault_target(base::Attempt attempt, base::LocalRank local_rank);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
