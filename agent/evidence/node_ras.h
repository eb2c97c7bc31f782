#pragma once
// Chooses where NCCL's RAS (a service of NCCL that reports the state of all processes of a job)
// listens on this node, and answers the supervisor's questions to RAS.
//
// Owned by the WorkerSet, on the agent's loop. NCCL in all workers of the node shares one port;
// other jobs have other ports.

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
  // The value of NCCL_RAS_ADDR for the attempt's workers; empty: the variable is left as it is.
  [[nodiscard]] const std::string& address() const { return address_; }
  // Sends one RasAnswer. `in_use`: some worker has communicators of NCCL; otherwise the answer is
  // empty and sent at once. A later ask() or begin_attempt() cancels an answer that is still
  // awaited.
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
