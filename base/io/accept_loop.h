#pragma once
// Takes the connections of a listening socket, one a turn, until it is stopped.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::base {

class AcceptLoop {
 public:
  // Stops: the handler is not called any more, the socket is closed. Not from within the handler.
  virtual ~AcceptLoop() = default;

  // `listening` must not block. `welcome` gets each peer, close-on-exec and not blocking; it is
  // called by the executor's thread. Without free descriptors peers wait in the queue, and it is
  // tried again after a pause. Fails with the errno of the loop.
  static Result<std::unique_ptr<AcceptLoop>> start(boost::asio::any_io_executor executor,
                                                   Fd listening, std::function<void(Fd)> welcome);
};

}  // namespace robustrun::base
