#pragma once
// The tests of whether this node is fit, run while it has no workers: checks (preflight.h) and
// replays (replay.h). Passes orders on. Used on the agent's loop.

#include "agent/preflight/preflight.h"
#include "agent/preflight/replay.h"

namespace robustrun::agent {

class NodeTests {
 public:
  explicit NodeTests(NodeContext& node) : preflight_(node), replay_(node) {}
  // Other messages are ignored.
  void take(const wire::Message& message);
  // Workers are about to start and need the node to themselves.
  void end_replay() { replay_.end(); }

 private:
  Preflight preflight_;
  Replay replay_;
};

}  // namespace robustrun::agent
