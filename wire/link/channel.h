#pragma once
// One connection between supervisor and agent: messages in, messages out, over a connected
// stream socket: locally one end of a socket pair, between machines TLS over TCP (listener.h,
// dialer.h).
//
// Lives on one io_context and its thread. Handlers are called from the loop, never from inside
// send(). After on_closed no other handler is called. Owned by shared_ptr; close() first, the
// object goes away when its last pending operation has returned.

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
    // EOF (code kUnavailable), reset, protocol violation, or a send queue over its limit. What
    // the peer had sent before it went is delivered first.
    std::function<void(const base::Error&)> on_closed;
    // The send queue fell below half of the mark that `congested` names. May be empty.
    std::function<void()> on_drained;
    // While reading is paused: nothing more goes through (a reset, a closed socket pair, a peer
    // that the kernel has given up); its last words and on_closed follow once reading goes on. An
    // orderly end of TCP stands behind what was not read: it shows with the next send. Said once in
    // a pause. May be empty.
    std::function<void()> on_peer_gone = {};
  };

  // `socket` becomes non-blocking and stays CLOEXEC.
  static std::shared_ptr<Channel> open(boost::asio::any_io_executor executor, base::Fd socket,
                                       Handlers handlers);
  virtual ~Channel() = default;

  // New handlers in place of the present ones, from the next message on; a channel that was handed
  // over (wire/link/listener.h, wire/link/dialer.h) reads nothing before this.
  virtual void set_handlers(Handlers handlers) = 0;
  // Ignored once the connection has ended.
  virtual void send(const Message& message) = 0;
  // Bytes accepted by send() and not yet by the kernel.
  [[nodiscard]] virtual std::size_t queued_bytes() const = 0;
  // Bulk senders (worker output) pause while true: more than 1 MiB is queued.
  [[nodiscard]] virtual bool congested() const = 0;
  // No on_message and no on_closed until resume_reading(): the peer's output then backs up into
  // its own queue. Only on_peer_gone comes meanwhile.
  virtual void pause_reading() = 0;
  virtual void resume_reading() = 0;
  // No handler is called afterwards. Queued messages are still written for at most 1 s.
  virtual void close() = 0;
};

}  // namespace robustrun::wire
