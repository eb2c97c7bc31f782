#pragma once
// The store of the current attempt, if this node's agent serves it: the node of rank 0 does.
// Owned by the NodeAgent, on its loop.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/node/node_context.h"
#include "agent/store/store.h"
#include "base/core/clock.h"
#include "base/core/result.h"

namespace robustrun::agent {

class AttemptStore {
 public:
  explicit AttemptStore(NodeContext& node) : node_(node) {}

  // A free port for MASTER_PORT of the next attempt. The store listens there from now on, so that
  // no other program can take it. With --store=worker the port is only free.
  base::Result<std::uint16_t> reserve(base::Rng& rng);

  struct Place {
    std::uint32_t port = 0;  // MASTER_PORT
    bool has_rank_zero = false;  // on this node
    bool is_alone = false;  // no ranks on other nodes
    // Else: addresses of the other nodes; empty: not all are known, so all addresses are accepted.
    std::vector<std::string> clients{};
  };
  // Call it before workers start: serves a store without keys if rank 0 is here, closes the one of
  // the attempt before. If the port is not available, rank 0's worker serves the store from now on.
  void begin_attempt(const Place& place);

  // The attempt's workers here were stopped: a rank of the next attempt must not find its keys.
  void end_attempt();

  // Rank 0's worker serves the store from now on.
  void leave_to_worker();

 private:
  base::Status open(std::uint16_t port);

  NodeContext& node_;
  std::unique_ptr<Store> store_;
  bool is_used_ = false;  // by an attempt
};

}  // namespace robustrun::agent
