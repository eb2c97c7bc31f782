#pragma once
// All workers of the current attempt on this node.
//
// Owned by the NodeAgent, on its loop. Starts one worker per turn of the loop, stops them all
// (stop.h), and reports WorkersGone when nothing of the attempt is left but processes that cannot
// be killed, which it names. Before that, stale /dev/shm segments are removed and the copies that
// workers left in memory are saved. If another attempt follows, the copies are saved while it
// starts: SavingOver then reports the end, and the new workers' loads and saves wait for it.

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
  // `copies`: of workers' states, kept from attempt to attempt. `peers`: for blocks of an image.
  // All arguments outlive this object.
  WorkerSet(NodeContext& node, MemoryTier& copies, BlockPeers& peers, StageFiles& stage);
  ~WorkerSet();
  WorkerSet(const WorkerSet&) = delete;
  WorkerSet& operator=(const WorkerSet&) = delete;

  // Whether `order` starts workers: it is not a repeated order, and no workers of another attempt
  // live.
  [[nodiscard]] bool takes(const wire::StartWorkers& order) const;
  void start(wire::StartWorkers order);
  void stop(const wire::StopWorkers& order);
  void signal(const wire::SignalWorkers& order);
  // Sends `signal` to every worker of this node, whatever the attempt.
  void signal_all(int signal);
  // Keeps the standby workers that `order` asks for. No effect on a node that has workers.
  void keep_standbys(const wire::KeepStandbys& order);
  // Kills everything at once, standbys too; calls `done` when all are gone and the workers' copies
  // are saved or given up.
  void kill_all(std::function<void()> done);
  // Calls `done` from the loop, never during this call, once WorkersGone of the current attempt is
  // sent; without a current attempt, soon.
  void when_gone(std::function<void()> done);
  // Stops the workers as a stop order does. No effect during a stop, or without workers.
  void stop_all(int signal, base::Nanos grace);
  void set_congested(bool congested);
  // True when some worker has begun, or done a step, since the last call.
  bool report_progress();
  // Every worker sends an Observed of its own; with Observe::use_of, only that worker does. With
  // Observe::ras a RasAnswer follows. A question about another attempt is ignored.
  void observe(const wire::Observe& question);
  // A worker of the current attempt; nullptr: no such worker.
  [[nodiscard]] FaultTarget* fault_target(base::Attempt attempt, base::LocalRank local_rank);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
