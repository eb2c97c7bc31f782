#pragma once
// One connection between supervisor and agent that carries messages both ways: over a socket pair
// on the same machine, over TLS and TCP between machines (listener.h, dialer.h).
//
// Used on one io_context and its thread. Handlers are called from the loop, never from inside a
// call to the channel. After on_closed no other handler is called. The owner calls close() before
// it drops its shared_ptr: pending operations keep the object alive until they have returned.

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <functional>
#include <memory>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "wire/messages/messages.h"

namespace robustrun::wire {

class Channel {
 public:
  struct Handlers {
    std::function<void(Message)> on_message;
    // The connection has ended. After EOF (kUnavailable), a reset or a protocol violation, all that
    // the peer had sent before is delivered first. If a message of ours or the send queue exceeds
    // its limit (kLimit), nothing more is delivered.
    std::function<void(const base::Error&)> on_closed;
    // The send queue was congested() and has fallen below kDrainedBytes. May be empty.
    std::function<void()> on_drained;
    // While reading is paused: the connection is dead (a reset, a closed socket pair, or the kernel
    // has given the peer up). The peer's last messages and on_closed follow once reading resumes.
    // If the peer ends a TCP connection in order, this handler is called only if a later send
    // fails; otherwise on_closed reports the end after resume_reading(). Called once per pause. May
    // be empty.
    std::function<void()> on_peer_gone = {};
  };

  // `socket` becomes non-blocking and CLOEXEC.
  static std::shared_ptr<Channel> open(boost::asio::any_io_executor executor, base::Fd socket,
                                       Handlers handlers);
  virtual ~Channel() = default;

  // Replaces the handlers from the next message on. A channel that was handed over
  // (wire/link/listener.h, wire/link/dialer.h) reads nothing before this call.
  virtual void set_handlers(Handlers handlers) = 0;
  // No effect once the connection has ended.
  virtual void send(const Message& message) = 0;
  // Bytes accepted by send() but not yet by the kernel.
  [[nodiscard]] virtual std::size_t queued_bytes() const = 0;
  // True while more than kCongestedBytes are queued: senders of much data (worker output) should
  // pause.
  [[nodiscard]] virtual bool congested() const = 0;
  // Until resume_reading(), on_message is not called, and on_closed only if a send exceeds a limit.
  // The peer's messages then fill the peer's own send queue.
  virtual void pause_reading() = 0;
  virtual void resume_reading() = 0;
  // No handler is called afterwards. Queued messages are still written, for at most kCloseLinger.
  virtual void close() = 0;
};

}  // namespace robustrun::wire
