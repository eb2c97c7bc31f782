#pragma once
// One pre-flight check: the conversation with the agents of some nodes, put together to the event
// that the core judges. Decides nothing. wire/messages/preflight.h says what is said.
//
// All nodes are asked at once, and each step ends when all have answered or its time is over; who
// did not answer in time, or was lost meanwhile, is reported as such. What agents say is bounded
// and must be about this check; nothing of it is judged. On the driver's loop.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "supervisor/core/types/actions.h"
#include "supervisor/limits.h"
#include "wire/messages/messages.h"

namespace robustrun::supervisor {

class PreflightCheck {
 public:
  struct Node {
    base::NodeId node;
    base::Generation generation;
    std::string address;   // of its data interface, numeric
  };
  struct Hands {
    std::function<void(base::NodeId, const wire::Message&)> send;
    std::function<void(NodesChecked)> on_done;   // once, from the loop; may drop the check
  };

  struct Limits {
    base::Nanos ready = kCheckReadyMax;
    base::Nanos fast = kCheckFastMax, full = kCheckFullMax;
    base::Nanos round = kCheckRoundMax;
    base::Nanos gpus = kCheckGpuMax;   // instead of fast
  };

  // Begins with a post, so never from within the caller.
  static std::shared_ptr<PreflightCheck> start(boost::asio::any_io_executor executor,
                                               const base::Clock& clock, const CheckNodes& order,
                                               std::vector<Node> nodes, Hands hands,
                                               const Limits& limits);
  virtual ~PreflightCheck() = default;
  virtual void drop() = 0;   // `on_done` is not called any more

  // Of another check, of a node that was not asked, or said twice: ignored.
  virtual void on_report(base::NodeId node, const wire::CheckReady& report) = 0;
  virtual void on_report(base::NodeId node, wire::NodeChecked& report) = 0;
  virtual void on_report(base::NodeId node, const wire::PeersMeasured& report) = 0;
  // An agent is connected again: what it was told last, it may not have heard.
  virtual void on_connected_again(base::NodeId node) = 0;
  virtual void on_agent_lost(base::NodeId node, const std::string& why) = 0;
};

}  // namespace robustrun::supervisor
