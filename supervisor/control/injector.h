#pragma once
// Fault injection (`robustrun inject`), the supervisor's side: chooses the target, orders the
// fault, waits for the node's answer.
//
// Owned by the driver, on its loop. The core is not told: it handles an injected fault like any
// other. Every injected fault is logged and recorded.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/ids.h"
#include "base/core/result.h"
#include "supervisor/control/fault_request.h"
#include "supervisor/core/types/events.h"
#include "wire/messages/messages.h"

namespace robustrun::supervisor {

class Injector {
 public:
  // A node with a connection to its agent.
  struct Node {
    base::NodeId id;
    std::string name;
    std::string address;  // may be empty
    std::vector<base::Rank> ranks;  // by local rank, of the current attempt; empty: a spare
  };
  // The nodes of the current group in its order, then the spares.
  struct Group {
    base::Attempt attempt;
    std::vector<Node> nodes;
  };
  struct Hands {
    std::function<Group()> group;
    std::function<void(base::NodeId, const wire::Message&)> send;
    // Journals a fault once it is done, and the supervisor's own death before it happens.
    std::function<void(const FaultInjected&)> record;
  };
  Injector(boost::asio::any_io_executor executor, Hands hands);
  ~Injector();  // calls no `done` any more
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;

  // `done` is called once, from within inject() or later, within kInjectionAnswerMax. The caller
  // itself carries out kSupervisorDeath.
  using Done = std::function<void(base::Result<FaultReport>)>;
  void inject(const FaultRequest& request, Done done);
  // The supervisor is about to kill itself.
  void note_own_death(std::int32_t pid);
  void on_report(base::NodeId node, const wire::Injected& report);
  // If the agent's death was the ordered fault, the fault is done; all other faults ordered from
  // this agent have failed.
  void on_agent_lost(base::NodeId node);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

// The target of a fault.
struct FaultTarget {
  base::NodeId node;
  std::string node_name;
  std::optional<base::Rank> rank;
  std::optional<base::LocalRank> local_rank;
};
// The target of a request. `request.draw` chooses a rank among all ranks or those of the named
// node, and a node among those that have ranks. Pure. kInvalidArgument: there is no such rank or
// node. kUnavailable: there is no target at the moment.
[[nodiscard]] base::Result<FaultTarget> choose_target(const FaultRequest& request,
                                                      const Injector::Group& group);

}  // namespace robustrun::supervisor
