#pragma once
// Gathers everything that a check wants to know of this machine, side by side.

#include <functional>
#include <memory>

#include "agent/node/node_context.h"
#include "base/core/node_facts.h"

namespace robustrun::agent {

class FactsHunt {
 public:
  using Done = std::function<void(base::NodeFacts)>;

  // `done` comes once, from the loop, within kFactsFastMax, or kFactsFullMax when the order says
  // `full`, and kFactsGpuMax when it says `gpus`: what is not known by then says so.
  static std::shared_ptr<FactsHunt> start(NodeContext& node, const wire::CheckNode& order,
                                          Done done);
  virtual ~FactsHunt() = default;
  virtual void drop() = 0;  // `done` is not called any more, programs are killed
};

}  // namespace robustrun::agent
