#pragma once
// Tests whether this node is fit for the run: passes the supervisor's orders to checks
// (preflight.h) and replays (replay.h). Used on the agent's loop.

#include "agent/preflight/preflight.h"
#include "agent/preflight/replay.h"

namespace robustrun::agent {

class NodeTests {
 public:
  explicit NodeTests(NodeContext& node) : preflight_(node), replay_(node) {}
  // Other messages are ignored.
  void take(const wire::Message& message);
  // To be called before workers start, which need the node to themselves.
  void end_replay() { replay_.end(); }

 private:
  Preflight preflight_;
  Replay replay_;
};

}  // namespace robustrun::agent
