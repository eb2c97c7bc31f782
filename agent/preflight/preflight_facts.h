#pragma once
// Collects everything that a check wants to know of this machine, in parallel.

#include <functional>
#include <memory>

#include "agent/node/node_context.h"
#include "base/core/node_facts.h"

namespace robustrun::agent {

class FactsCollector {
 public:
  using Done = std::function<void(base::NodeFacts)>;

  // `done` comes once, from the loop, within kFactsFastMax, or kFactsFullMax when the order says
  // `full`, or kFactsGpuMax when it says `gpus`; kFactsMargin is added to each. Facts that are
  // unknown by then say so.
  static std::shared_ptr<FactsCollector> start(NodeContext& node, const wire::CheckNode& order,
                                               Done done);
  virtual ~FactsCollector() = default;
  virtual void drop() = 0;  // `done` is not called any more; programs are killed
};

}  // namespace robustrun::agent
