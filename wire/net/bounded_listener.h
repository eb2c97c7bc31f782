#pragma once
// A listening TCP socket that hands over a bounded number of connections at a time.
//
// Each connection comes with a slot, which the receiver keeps until it has identified the peer.
// While all slots are taken, further peers wait in the kernel's queue. They also wait there when
// descriptors or memory run out; the listener accepts again after kAcceptRetry.
//
// With `is_known`, known peers have kKnownHandshakesMax slots of their own, so that a crowd of
// strangers (all other peers) does not delay them. Strangers are then accepted at once, and wait in
// this object for a slot: at most kWaitingStrangersMax, and at most a quarter of the allowed
// descriptors (RLIMIT_NOFILE). Further strangers are disconnected. When descriptors or memory run
// out, the newest waiting stranger is disconnected.
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
    // Set by the receiver: closes the connection, because other peers wait. Called at most once,
    // and only without `on_crowded`. Empty: the connection stays.
    std::function<void()> give_up;
  };
  // A slot is taken until the last copy of this pointer is gone. It may outlive the listener.
  using Slot = std::shared_ptr<Turn>;
  struct Handlers {
    // `connection` is non-blocking and close-on-exec. Any handler may destroy the listener.
    std::function<void(base::Fd connection, Slot slot)> on_connection;
    // Called when a peer waits and all slots are taken. The handler frees a slot and returns
    // nullopt, or returns the time after which to call it again. Empty: the oldest connection with
    // a `give_up` is closed once it has kept its slot for `patience`.
    std::function<std::optional<base::Nanos>()> on_crowded = {};
    // Whether the peer is known. May be empty.
    std::function<bool(int connection)> is_known = {};
    // Called when a process of another user on this machine has connected; the connection is closed
    // on return. `user`: from other_user_at() (wire/net/peer_user.h). Empty: such connections are
    // accepted like all others.
    std::function<void(uid_t user)> on_other_user = {};
    // Called whenever a connection cannot be accepted for want of descriptors or memory. May be
    // empty.
    std::function<void(int os_errno)> on_shortage = {};
    base::Nanos patience = kSlotPatience;  // without on_crowded
  };

  // Listens on `address` (numeric; empty: every interface, IPv6 and IPv4) and `port` (0: a free
  // one). `slots`: at least 1. Errors: as listen_tcp() (wire/net/tcp.h).
  static base::Result<std::unique_ptr<BoundedListener>> open(boost::asio::any_io_executor executor,
                                                             const std::string& address,
                                                             std::uint16_t port, std::size_t slots,
                                                             Handlers handlers);
  virtual ~BoundedListener() = default;  // closes the socket; no handler is called any more
  // Takes a slot, even beyond the bound, for a connection that the caller opened itself.
  [[nodiscard]] virtual Slot take_slot() = 0;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

}  // namespace robustrun::wire
