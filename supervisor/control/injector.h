#pragma once
// Faults on purpose, the supervisor's side: finds the victim, orders the fault, waits for the
// node's answer (`robustrun inject`).
//
// Owned by the driver, on its loop. It changes nothing in the core: what a fault does to the job
// is met like any other fault. Every one is logged and recorded.

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
    std::string address;               // may be empty
    std::vector<base::Rank> ranks;     // by local rank, of the current attempt; empty: a spare
  };
  // Those of the group that runs now, in its order, and the spares.
  struct Group {
    base::Attempt attempt;
    std::vector<Node> nodes;
  };
  struct Hands {
    std::function<Group()> group;
    std::function<void(base::NodeId, const wire::Message&)> send;
    // Into the journal: before anybody is told, and before what came of it can be heard of.
    std::function<void(const FaultInjected&)> record;
  };
  Injector(boost::asio::any_io_executor executor, Hands hands);
  ~Injector();   // nobody is told any more
  Injector(const Injector&) = delete;
  Injector& operator=(const Injector&) = delete;

  // `done` is called once, at once or later: within kInjectionAnswerMax. Not for
  // kSupervisorDeath, which is the caller's to do.
  using Done = std::function<void(base::Result<FaultReport>)>;
  void inject(const FaultRequest& request, Done done);
  // The supervisor is about to die by its own hand.
  void note_own_death(std::int32_t pid);
  // What agents say, and that one can say no more (its death may be what was ordered).
  void on_report(base::NodeId node, const wire::Injected& report);
  void on_agent_lost(base::NodeId node);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

// Whom a request hits. Pure. kInvalidArgument: no such rank or node; kUnavailable: there is
// nobody to be hit at the moment. `request.draw` chooses where neither is named.
struct FaultVictim {
  base::NodeId node;
  std::string node_name;
  std::optional<base::Rank> rank;
  std::optional<base::LocalRank> local_rank;
};
[[nodiscard]] base::Result<FaultVictim> choose_victim(const FaultRequest& request,
                                                      const Injector::Group& group);

}  // namespace robustrun::supervisor
