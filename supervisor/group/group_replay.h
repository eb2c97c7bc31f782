#pragma once
// One wave of a replay: talks to the agents of some groups of nodes (wire/messages/replay.h), and
// combines their answers into the event that the core judges. Decides nothing.
//
// All groups begin at once, each with a port that its first node found. A group is over when all
// its nodes have answered, at the deadline, or Plan::others after a node has failed, as the other
// nodes may only wait for that one; remaining processes are killed then. A group counts as
// untested if it loses an agent that has not answered. Used on the driver's loop.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "supervisor/core/types/actions.h"
#include "supervisor/limits.h"
#include "wire/messages/messages.h"

namespace robustrun::supervisor {

class GroupReplay {
 public:
  struct Hands {
    std::function<void(base::NodeId, const wire::Message&)> send;
    std::function<void(NodesReplayed)> on_done;  // once, from the loop; may drop the replay
  };
  struct Plan {
    std::vector<std::string> command;  // argv; empty: the alignment test
    base::Attempt attempt;  // for the requests for ports
    base::Nanos others = kReplayOthersMax;  // time for a group's other nodes once one has failed
  };

  // Does not call `hands` before it has returned.
  static std::shared_ptr<GroupReplay> start(boost::asio::any_io_executor executor,
                                            const base::Clock& clock, ReplayNodes order, Plan plan,
                                            Hands hands);
  virtual ~GroupReplay() = default;
  virtual void drop() = 0;  // ends all processes; `on_done` is not called any more

  // Repeated reports, and reports of other nodes, are ignored. False: the port is not for this
  // replay.
  virtual bool on_report(base::NodeId node, const wire::PortReserved& report) = 0;
  virtual void on_report(base::NodeId node, const wire::NodeReplayed& report) = 0;
  // Sends the last order again, as the agent may have missed it.
  virtual void on_connected_again(base::NodeId node) = 0;
  virtual void on_agent_lost(base::NodeId node, const std::string& why) = 0;
};

}  // namespace robustrun::supervisor
