#pragma once
// A listening TCP socket that hands over a bounded number of connections at a time.
//
// Each connection comes with a slot, which its receiver keeps until it has identified the peer.
// While all slots are taken, further peers wait in the kernel's queue. They also wait there when
// descriptors or memory run out; accepting is retried after kAcceptRetry. Without `on_crowded`, the
// oldest connection that can give up its slot has to do so once it has kept it for `patience`.
//
// With `is_known`, peers of known addresses have kKnownHandshakesMax slots of their own, so that a
// crowd of strangers does not delay them. Strangers are then accepted, and wait in this object for
// a slot: at most kWaitingStrangersMax, and as many as a quarter of the allowed descriptors.
// Further ones are disconnected, and the newest of those that wait when descriptors or memory run
// out.
//
// To be used on the loop of its executor.

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/io/fd.h"
#include "wire/messages/limits.h"

namespace robustrun::wire {

class BoundedListener {
 public:
  struct Turn {
    // Set by the receiver: closes the connection because others wait. Called at most once. Empty:
    // the connection stays.
    std::function<void()> give_up;
  };
  // Taken until its last copy is gone; may outlive the listener.
  using Slot = std::shared_ptr<Turn>;
  struct Handlers {
    // `connection` is non-blocking and close-on-exec. Any handler may destroy the listener.
    std::function<void(base::Fd connection, Slot slot)> on_connection;
    // A peer is waiting while all slots are taken. The handler frees a slot and returns nullopt, or
    // returns after how long to call it again if no slot is freed by then. May be empty: then
    // connections that kept a slot for `patience` give it up.
    std::function<std::optional<base::Nanos>()> on_crowded = {};
    // Whether the connection comes from the address of a known peer. May be empty.
    std::function<bool(int connection)> is_known = {};
    // A process of another user on this machine has connected, and is disconnected on return.
    // `user`: as other_user_at() returns it (wire/net/peer_user.h). Empty: such connections are
    // like all others.
    std::function<void(uid_t user)> on_other_user = {};
    // No descriptor or memory is left for a connection; called at every retry. May be empty.
    std::function<void(int os_errno)> on_shortage = {};
    base::Nanos patience = kSlotPatience;  // without on_crowded
  };

  // Listens on `address` and `port`, as listen_tcp() of wire/net/tcp.h. `slots`: at least 1.
  static base::Result<std::unique_ptr<BoundedListener>> open(boost::asio::any_io_executor executor,
                                                             const std::string& address,
                                                             std::uint16_t port, std::size_t slots,
                                                             Handlers handlers);
  virtual ~BoundedListener() = default;  // closes the socket; no handler is called any more
  // Takes a slot for a connection that did not come in here but counts as if it had, even beyond
  // the bound.
  [[nodiscard]] virtual Slot take_slot() = 0;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

}  // namespace robustrun::wire
