#pragma once
// Accepts connections of a listening socket, one per turn of the loop.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::base {

class AcceptLoop {
 public:
  // Closes the socket; `on_peer` is not called any more. `on_peer` must not destroy this object.
  virtual ~AcceptLoop() = default;

  // `listening` must be non-blocking. `on_peer` receives each connection, close-on-exec and
  // non-blocking, on the executor's thread. When no descriptor is free, peers wait in the kernel's
  // queue and accepting is retried after kAcceptPause. Fails, with the errno, if the loop cannot
  // watch the socket.
  static Result<std::unique_ptr<AcceptLoop>> start(boost::asio::any_io_executor executor,
                                                   Fd listening, std::function<void(Fd)> on_peer);
};

}  // namespace robustrun::base
