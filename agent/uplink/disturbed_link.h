#pragma once
// A connection to the supervisor that can be impaired on purpose (net-delay and net-drop of
// `robustrun inject`): a SupervisorLink around another one, without effect until disturb() is
// called.
//
// No message is ever lost or reordered: TCP would send again, so what a drop held back is delivered
// late, in order, when the drop is over. Both directions are treated alike. What the inner
// connection detects by itself (its end, signs of life) is not affected. Used on the agent's loop.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

#include "agent/uplink/supervisor_link.h"
#include "wire/messages/injection.h"

namespace robustrun::agent {

class DisturbedLink : public SupervisorLink {
 public:
  using MakeLink = std::function<std::unique_ptr<SupervisorLink>(Handlers)>;
  // Calls `make` at once, with handlers that forward to `handlers`.
  static std::unique_ptr<DisturbedLink> around(boost::asio::any_io_executor executor,
                                               const base::Clock& clock, Handlers handlers,
                                               const MakeLink& make);
  // kNetDrop: nothing passes for `duration`. kNetDelay: messages sent within `duration` arrive
  // `delay` later. A new disturbance replaces the current one, also for messages that are held.
  virtual void disturb(wire::FaultKind kind, base::Nanos duration, base::Nanos delay) = 0;
};

}  // namespace robustrun::agent
