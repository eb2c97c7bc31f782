#pragma once
// A line to the supervisor that can be made worse on purpose (net-delay and net-drop of
// `robustrun inject`): a HomeLink around another one, invisible until disturb() is called.
//
// Nothing is ever lost or overtaken: TCP would send again, so what a drop held back is delivered
// late, in order, when the drop is over. Both directions are treated alike. What the connection
// below notices by itself (its end, signs of life) is not touched. On the agent's loop.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

#include "agent/uplink/home_link.h"
#include "wire/messages/injection.h"

namespace robustrun::agent {

class DisturbedLink : public HomeLink {
 public:
  using MakeLink = std::function<std::unique_ptr<HomeLink>(Handlers)>;
  // `make` is called at once, with handlers of ours in front of `handlers`.
  static std::unique_ptr<DisturbedLink> around(boost::asio::any_io_executor executor,
                                               const base::Clock& clock, Handlers handlers,
                                               const MakeLink& make);
  // kNetDrop: nothing passes for `duration`. kNetDelay: whatever is said within `duration` comes
  // `delay` later. A new one replaces one that is at work, for what is held already, too.
  virtual void disturb(wire::FaultKind kind, base::Nanos duration, base::Nanos delay) = 0;
};

}  // namespace robustrun::agent
