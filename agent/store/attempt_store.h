#pragma once
// Serves the current attempt's store (store.h), if this node has rank 0. Owned by the NodeAgent, on
// its loop.

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
  // no other program can take the port. With --store=worker nothing listens there.
  base::Result<std::uint16_t> reserve(base::Rng& rng);

  struct Place {
    std::uint32_t port = 0;  // MASTER_PORT
    bool has_rank_zero = false;  // on this node
    bool is_alone = false;  // no ranks on other nodes
    // Unless is_alone: addresses of the other nodes. Empty: not all are known, so connections from
    // all addresses are accepted.
    std::vector<std::string> clients{};
  };
  // To be called before workers start. Closes the earlier attempt's store and, if rank 0 is here,
  // serves one without keys. If the port is not available, rank 0's worker serves the store from
  // now on.
  void begin_attempt(const Place& place);

  // To be called when the attempt's workers here have been stopped. Closes its store, so that no
  // rank of the next attempt finds its keys.
  void end_attempt();

  // Rank 0's worker serves the store from now on.
  void leave_to_worker();

 private:
  base::Status open(std::uint16_t port);

  NodeContext& node_;
  std::unique_ptr<Store> store_;
  bool is_used_ = false;  // an attempt has begun with store_
};

}  // namespace robustrun::agent
