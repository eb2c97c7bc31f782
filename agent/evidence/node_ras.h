#pragma once
// NCCL's RAS on this node: where it listens in the current attempt, and its answers.
//
// Owned by the WorkerSet, on the agent's loop. All workers of the node share one port, as NCCL
// arranges it; other jobs have other ports.

#include <memory>
#include <string>

#include "agent/evidence/ras_look.h"
#include "agent/node/node_context.h"
#include "base/core/clock.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

class NodeRas {
 public:
  explicit NodeRas(NodeContext& node) : node_(node) {}

  // Chooses an address if the user has set none and NCCL is watched.
  void begin_attempt();
  // For NCCL_RAS_ADDR of the attempt's workers; empty: the variable is left as it is.
  [[nodiscard]] const std::string& address() const { return address_; }
  // Sends one RasAnswer; at once and empty unless `in_use`: some worker has communicators of NCCL.
  // A later ask() or begin_attempt() cancels it.
  void ask(const wire::Observe& question, bool in_use);
  // An answer that is still awaited is not sent.
  void abandon() { look_.reset(); }

 private:
  void answer(const wire::Observe& question, const base::Result<std::string>& report) const;

  NodeContext& node_;
  base::Rng rng_{base::system_seed()};
  std::string address_;
  std::unique_ptr<RasLook> look_;
};

}  // namespace robustrun::agent
