#pragma once
// Collects the facts about this machine for a preflight check, all at the same time.

#include <functional>
#include <memory>

#include "agent/node/node_context.h"
#include "base/core/node_facts.h"

namespace robustrun::agent {

class FactsCollector {
 public:
  using Done = std::function<void(base::NodeFacts)>;

  // `done` is called once, from the loop: within kFactsGpuMax if the order has `gpus`, otherwise
  // within kFactsFullMax if it has `full`, otherwise within kFactsFastMax; kFactsMargin is added to
  // each. Facts that are unknown by then have their `error` set.
  static std::shared_ptr<FactsCollector> start(NodeContext& node, const wire::CheckNode& order,
                                               Done done);
  virtual ~FactsCollector() = default;
  virtual void drop() = 0;  // `done` is not called any more; programs are killed
};

}  // namespace robustrun::agent
