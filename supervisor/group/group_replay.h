#pragma once
// One wave of a replay: the conversation with the agents of some groups of nodes, put together to
// the event that the core judges. Decides nothing. wire/messages/replay.h says what is said.
//
// All groups begin at once, each with a port that its first node found. A group is over when all
// its nodes have answered, or soon after the first of them failed (the others may only wait for
// that one), or at the deadline; what still runs there is killed then. A lost agent leaves its
// group untested. On the driver's loop.

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
    base::Attempt attempt;  // what ports are asked for with
    base::Nanos others = kReplayOthersMax;  // of a group, once one of its nodes has failed
  };

  // Begins with a post, so never from within the caller.
  static std::shared_ptr<GroupReplay> start(boost::asio::any_io_executor executor,
                                            const base::Clock& clock, ReplayNodes order, Plan plan,
                                            Hands hands);
  virtual ~GroupReplay() = default;
  virtual void drop() = 0;  // `on_done` is not called any more; nothing runs any more

  // Of a node that was not asked, or said twice: ignored. False: it was not meant for us.
  virtual bool on_report(base::NodeId node, const wire::PortReserved& report) = 0;
  virtual void on_report(base::NodeId node, const wire::NodeReplayed& report) = 0;
  // An agent is connected again: what it was told last, it may not have heard.
  virtual void on_connected_again(base::NodeId node) = 0;
  virtual void on_agent_lost(base::NodeId node, const std::string& why) = 0;
};

}  // namespace robustrun::supervisor
