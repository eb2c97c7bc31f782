#pragma once
// All workers of the current attempt on this node.
//
// Owned by the Agent, on its loop. Starts one worker per turn of the loop, stops them all
// (signal, grace, kill), and reports WorkersGone when nothing of the attempt is left, stale
// /dev/shm segments included. What they left in memory is saved before that, or, if another attempt
// follows, while that starts: then SavingOver says when, and its workers' loads and saves wait.

#include <functional>
#include <memory>

#include "agent/copies/memory_tier.h"
#include "agent/node/node_context.h"
#include "agent/node/victim.h"
#include "agent/staging/block_peers.h"
#include "agent/staging/stage_files.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

class WorkerSet {
 public:
  // `copies`: of workers' states, from attempt to attempt. `peers`: for blocks of an image. All
  // outlive it.
  WorkerSet(NodeContext& node, MemoryTier& copies, BlockPeers& peers, StageFiles& stage);
  ~WorkerSet();
  WorkerSet(const WorkerSet&) = delete;
  WorkerSet& operator=(const WorkerSet&) = delete;

  // Not one that comes again, or while workers of another one live.
  [[nodiscard]] bool takes(const wire::StartWorkers& order) const;
  void start(wire::StartWorkers order);
  void stop(const wire::StopWorkers& order);
  void signal(const wire::SignalWorkers& order);
  // Every worker of this node gets `signal`, whatever the attempt.
  void signal_all(int signal);
  // Of a node that has no workers.
  void keep_standbys(const wire::KeepStandbys& order);
  // Kills everything at once; `done` is called when nothing is left.
  void kill_all(std::function<void()> done);
  // Calls `done` once nothing of an attempt is left here; later, never from within.
  void when_gone(std::function<void()> done);
  // As an order to stop would, unless one came before.
  void stop_all(int signal, base::Nanos grace);
  void set_congested(bool congested);
  // True when some worker has done a step since the last time.
  bool report_progress();
  // Each worker of the attempt answers by itself; of another attempt nobody does.
  void observe(const wire::Observe& question);
  // A worker of the current attempt; nullptr when there is none.
  [[nodiscard]] Victim* victim(base::Attempt attempt, base::LocalRank local_rank);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
