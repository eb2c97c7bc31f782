#pragma once
// The agent's part of a replay, which runs one program on many small groups of nodes to find the
// node that computes wrong results (supervisor/core/types/replay_plan.h; protocol:
// wire/messages/replay.h). Starts the program once for each rank that the order gives this node,
// in the world of the node's group, and reports how that ended.
//
// The program is the order's or, if it names none, the alignment test (python/robustrun/align.py).
// Its output goes to <log folder>/replay_<number>/<local rank>.log. It runs below shims, so nothing
// of it outlives its deadline, the next order, a start of workers, or this agent. Used on the
// agent's loop.

#include <memory>

#include "agent/node/node_context.h"
#include "base/core/result.h"
#include "wire/messages/replay.h"

namespace robustrun::agent {

// The worker template that runs the program of `order` (worker_command.h). kInvalidArgument, with a
// sentence for the user: no interpreter is known, or the order names a program, but this agent
// belongs to a user's command that joined the run from this machine and starts only that command's
// own program (`own_command`: NodeContext::own_command).
base::Result<wire::WorkerTemplate> replay_template(const wire::WorkerTemplate& workers,
                                                   const wire::ReplayNode& order, bool own_command);

class Replay {
 public:
  explicit Replay(NodeContext& node);
  ~Replay();  // ends what is under way, without a report
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  void start(const wire::ReplayNode& order);
  void end();  // ends what is under way, without a report

 private:
  class Run;
  NodeContext& node_;
  std::shared_ptr<Run> run_;  // null: none is under way, and no result is kept
};

}  // namespace robustrun::agent
