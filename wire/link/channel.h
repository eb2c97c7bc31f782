#pragma once
// One connection between supervisor and agent that carries messages both ways, over a connected
// stream socket: one end of a socket pair on the same machine, TLS over TCP between machines
// (listener.h, dialer.h).
//
// Lives on one io_context and its thread. Handlers are called from the loop, never from inside
// send(). After on_closed no other handler is called. Owned by shared_ptr; close() it first: the
// object is destroyed when its last pending operation has returned.

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
    // EOF (kUnavailable), reset or protocol violation: all that the peer had sent before is
    // delivered first. Or our message or send queue is over its limit (kLimit): nothing is
    // delivered any more.
    std::function<void(const base::Error&)> on_closed;
    // The send queue fell below half of the limit of `congested`. May be empty.
    std::function<void()> on_drained;
    // While reading is paused: the connection is dead (a reset, a closed socket pair, a peer that
    // the kernel has given up). The peer's last messages and on_closed follow once reading resumes.
    // If the peer ends a TCP connection in order, this is called only if a send fails; otherwise
    // the end shows after resume_reading(), when all before it was read. Called once per pause. May
    // be empty.
    std::function<void()> on_peer_gone = {};
  };

  // `socket` becomes non-blocking and CLOEXEC.
  static std::shared_ptr<Channel> open(boost::asio::any_io_executor executor, base::Fd socket,
                                       Handlers handlers);
  virtual ~Channel() = default;

  // Replaces the handlers, from the next message on. A channel that was handed over
  // (wire/link/listener.h, wire/link/dialer.h) reads nothing before this call.
  virtual void set_handlers(Handlers handlers) = 0;
  // No effect once the connection has ended.
  virtual void send(const Message& message) = 0;
  // Bytes accepted by send() but not yet by the kernel.
  [[nodiscard]] virtual std::size_t queued_bytes() const = 0;
  // True while more than 1 MiB is queued: bulk senders (worker output) should pause.
  [[nodiscard]] virtual bool congested() const = 0;
  // Until resume_reading() nothing from the peer is delivered: on_message is not called, and
  // on_closed only if a send is over a limit. The peer's output backs up into its own queue.
  virtual void pause_reading() = 0;
  virtual void resume_reading() = 0;
  // No handler is called afterwards. Queued messages are still written, for at most 1 s.
  virtual void close() = 0;
};

}  // namespace robustrun::wire
