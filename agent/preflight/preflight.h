#pragma once
// The agent's part of a preflight check (protocol: wire/messages/preflight.h): examines its
// machine, opens a listener for its peers, connects to the peers that the order names, and
// measures.
//
// Never blocks the loop: steps that may hang run in programs (ask_program.h) or on the pool. Every
// step has a deadline; facts that are missing by then are reported as unknown. A CheckNode
// with another number replaces the current check; other orders with another number are ignored.
// Used on the agent's loop.

#include <memory>

#include "agent/node/node_context.h"
#include "wire/messages/preflight.h"

namespace robustrun::agent {

class Preflight {
 public:
  explicit Preflight(NodeContext& node);
  ~Preflight();  // ends the current check without a report
  Preflight(const Preflight&) = delete;
  Preflight& operator=(const Preflight&) = delete;

  void check(const wire::CheckNode& order);
  void reach(const wire::ReachPeers& order);
  void measure(const wire::MeasurePeers& order);
  void end(const wire::EndCheck& order);

 private:
  class Run;
  NodeContext& node_;
  std::shared_ptr<Run> run_;  // null: no check is under way
};

}  // namespace robustrun::agent
