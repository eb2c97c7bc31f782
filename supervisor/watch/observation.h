#pragma once
// One look at all workers: asks every agent, and puts the answers together.
//
// Owned by the driver, on its loop. Workers whose agents do not answer in time are left out; the
// analyzer accepts incomplete snapshots. Workers of a lost node are dead.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/ids.h"
#include "tracer/analysis/snapshot.h"
#include "wire/messages/messages.h"

namespace robustrun::supervisor {

class Observation {
 public:
  struct Node {
    base::NodeId node;
    std::string name;
    std::vector<base::Rank> ranks;   // by local rank
  };
  struct Plan {
    wire::Observe question;
    std::vector<Node> nodes;
    std::uint32_t world_size = 0;
    std::optional<base::NodeId> ras;  // the node that also asks NCCL's RAS; nullopt: no node does
  };
  struct Hands {
    std::function<void(base::NodeId, const wire::Message&)> send;
    // Called once, from the loop. The RAS answer is empty if no node was asked, or the node did not
    // answer.
    std::function<void(tracer::FleetSnapshot, wire::RasAnswer)> done;
  };
  static std::shared_ptr<Observation> begin(const boost::asio::any_io_executor& executor, Plan plan,
                                            Hands hands);
  virtual ~Observation() = default;

  virtual void on_report(base::NodeId node, const wire::Observed& report) = 0;
  virtual void on_report(base::NodeId node, wire::RasAnswer answer) = 0;
  // The node's answers will not come.
  virtual void on_agent_lost(base::NodeId node) = 0;
  // `done` is not called any more.
  virtual void drop() = 0;
};

}  // namespace robustrun::supervisor
