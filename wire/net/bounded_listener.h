#pragma once
// A listening TCP socket that hands over at most so many connections at a time.
//
// Each connection comes with a slot, which its receiver keeps until it knows what the connection
// is for. While all slots are taken, further peers wait in the kernel's queue. Without free
// descriptors or memory they wait there, too, and accepting is tried again after kAcceptRetry. On
// the loop of its executor.

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

namespace robustrun::wire {

class BoundedListener {
 public:
  // Taken until its last copy is gone; may outlive the listener.
  using Slot = std::shared_ptr<void>;
  struct Handlers {
    // `connection` is non-blocking and close-on-exec. May destroy the listener, as may the others.
    std::function<void(base::Fd connection, Slot slot)> on_connection;
    // A peer waits, and all slots are taken: gives one back and returns nullopt, or returns after
    // how long to ask again if no slot is given back until then. May be empty: then peers wait for
    // a slot.
    std::function<std::optional<base::Nanos>()> on_crowded = {};
    // There are no descriptors or no memory for a connection; called at every try. May be empty.
    std::function<void(int os_errno)> on_shortage = {};
  };

  // Listens on `address` and `port`, as listen_tcp() of wire/net/tcp.h. `slots`: at least 1.
  static base::Result<std::unique_ptr<BoundedListener>> open(boost::asio::any_io_executor executor,
                                                             const std::string& address,
                                                             std::uint16_t port, std::size_t slots,
                                                             Handlers handlers);
  virtual ~BoundedListener() = default;  // the socket is closed; no handler is called any more
  // For a connection that did not come in here and counts like one that did, even beyond the bound.
  [[nodiscard]] virtual Slot take_slot() = 0;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

}  // namespace robustrun::wire
