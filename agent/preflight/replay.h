#pragma once
// The agent's part of a replay (wire/messages/replay.h says how it goes): runs the program once per
// slot, as a worker of its group, and says how that ended.
//
// The program is what the order says, or robustrun's alignment test. Its output goes to
// <log folder>/replay_<number>/<local rank>.log. It runs below shims: nothing of it outlives its
// deadline, the next order, workers that are started, or this agent. On the agent's loop.

#include <memory>

#include "agent/node/node_context.h"
#include "base/core/result.h"
#include "wire/messages/replay.h"

namespace robustrun::agent {

// The template that makes the program of `order` one worker (worker_command.h). kInvalidArgument,
// in words, when that cannot be: no interpreter is known, or only our own command may run here.
base::Result<wire::WorkerTemplate> replay_template(const wire::WorkerTemplate& workers,
                                                   const wire::ReplayNode& order, bool own_command);

class Replay {
 public:
  explicit Replay(NodeContext& node);
  ~Replay();  // ends what is under way, without a word
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  void start(const wire::ReplayNode& order);
  void end();  // likewise

 private:
  class Run;
  NodeContext& node_;
  std::shared_ptr<Run> run_;  // null: none is under way, and none is remembered
};

}  // namespace robustrun::agent
