#pragma once
// The agent's part of a pre-flight check (protocol: wire/messages/preflight.h): examines its
// machine, opens a listener for its peers, connects to the peers that it is told to, and measures.
//
// Never blocks the loop: what may hang runs in programs (ask_program.h) or on the pool, and
// everything has a deadline; what is missing by then is reported as unknown, in words. One check at
// a time: a newer one replaces an older one. Used on the agent's loop.

#include <memory>

#include "agent/node/node_context.h"
#include "wire/messages/preflight.h"

namespace robustrun::agent {

class Preflight {
 public:
  explicit Preflight(NodeContext& node);
  ~Preflight();  // ends what is under way, without a report
  Preflight(const Preflight&) = delete;
  Preflight& operator=(const Preflight&) = delete;

  void check(const wire::CheckNode& order);
  void reach(const wire::ReachPeers& order);
  void measure(const wire::MeasurePeers& order);
  void end(const wire::EndCheck& order);

 private:
  class Run;
  NodeContext& node_;
  std::shared_ptr<Run> run_;  // null: none is under way
};

}  // namespace robustrun::agent
