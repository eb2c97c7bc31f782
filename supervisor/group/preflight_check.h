#pragma once
// One pre-flight check: talks to the agents of some nodes (wire/messages/preflight.h), and combines
// their answers into the event that the core judges. Decides nothing.
//
// All nodes are asked at once; each step ends when all have answered or its time is over. The event
// tells which nodes did not answer in time or were lost meanwhile. Long answers are shortened, and
// answers about other checks are ignored. Used on the driver's loop.

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
    std::string address;  // of its data interface, numeric
  };
  struct Hands {
    std::function<void(base::NodeId, const wire::Message&)> send;
    std::function<void(NodesChecked)> on_done;  // once, from the loop; may drop the check
  };

  struct Limits {
    base::Nanos ready = kCheckReadyMax;
    base::Nanos fast = kCheckFastMax, full = kCheckFullMax;
    base::Nanos round = kCheckRoundMax;
    base::Nanos gpus = kCheckGpuMax;  // instead of fast and full if GPUs are tested
  };

  // Does not call `hands` before it has returned.
  static std::shared_ptr<PreflightCheck> start(boost::asio::any_io_executor executor,
                                               const base::Clock& clock, const CheckNodes& order,
                                               std::vector<Node> nodes, Hands hands,
                                               const Limits& limits);
  virtual ~PreflightCheck() = default;
  virtual void drop() = 0;  // `on_done` is not called any more

  // Repeated reports, and reports of other checks and other nodes, are ignored.
  virtual void on_report(base::NodeId node, const wire::CheckReady& report) = 0;
  virtual void on_report(base::NodeId node, wire::NodeChecked& report) = 0;
  virtual void on_report(base::NodeId node, const wire::PeersMeasured& report) = 0;
  // Sends the last order again, as the agent may have missed it; but no order to measure.
  virtual void on_connected_again(base::NodeId node) = 0;
  virtual void on_agent_lost(base::NodeId node, const std::string& why) = 0;
};

}  // namespace robustrun::supervisor
