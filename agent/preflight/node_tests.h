#pragma once
// What an agent does to find out whether its node is fit, while no workers run: checks
// (preflight.h) and replays (replay.h). Passes orders on. On the agent's loop.

#include "agent/preflight/preflight.h"
#include "agent/preflight/replay.h"

namespace robustrun::agent {

class NodeTests {
 public:
  explicit NodeTests(NodeContext& node) : preflight_(node), replay_(node) {}
  // An order that is about something else is ignored.
  void take(const wire::Message& message);
  // Workers are about to start: they have the node for themselves.
  void end_replay() { replay_.end(); }

 private:
  Preflight preflight_;
  Replay replay_;
};

}  // namespace robustrun::agent
