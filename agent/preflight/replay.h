#pragma once
// The agent's part of a replay, which runs one program on many small groups of nodes to find the
// node that computes wrong results (supervisor/core/types/replay_plan.h; protocol:
// wire/messages/replay.h). Starts the program once for each rank that the order gives this node,
// with the world size of the node's group, and reports the outcome.
//
// If the order names no program, the alignment test runs (python/robustrun/align.py). The output
// goes to <log folder>/replay_<number>/<local rank>.log. The processes run below shims, so they do
// not outlive their deadline, an order with another number, a start of workers, or this agent. Used
// on the agent's loop.

#include <memory>

#include "agent/node/node_context.h"
#include "base/core/result.h"
#include "wire/messages/replay.h"

namespace robustrun::agent {

// The worker template that runs the program of `order` (worker_command.h). `own_command`: this
// agent starts no program but the one of its own command (NodeContext::own_command).
// kInvalidArgument, with a sentence for the user: the program needs Python and no interpreter is
// known, or the order names a program although `own_command` is set.
base::Result<wire::WorkerTemplate> replay_template(const wire::WorkerTemplate& workers,
                                                   const wire::ReplayNode& order, bool own_command);

class Replay {
 public:
  explicit Replay(NodeContext& node);
  ~Replay();  // as end()
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  // A repeated order starts nothing; its result is sent again.
  void start(const wire::ReplayNode& order);
  void end();  // kills the current replay's processes, without a report

 private:
  class Run;
  NodeContext& node_;
  std::shared_ptr<Run> run_;  // null: no replay is under way, and no result is kept
};

}  // namespace robustrun::agent
