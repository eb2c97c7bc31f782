#pragma once
// A unix stream socket that answers messages of this user's processes: a worker's questions to its
// agent, a user's orders to a running supervisor. It runs on the loop of `executor`.
//
// A message is a length (4 bytes, little endian) and its bytes, in both directions. Each message
// gets one answer, in order, and a connection may carry many. The socket has mode 0600, and peers
// of other users are refused (SO_PEERCRED). A peer that sends too much, or stops in the middle of a
// message, loses its connection; no other connection is affected.

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::base {

class RequestSocket {
 public:
  struct Limits {
    std::size_t message_bytes_max = 0;
    std::size_t connections_max = 0;  // at a time; a further connection is closed
    Nanos message_time{};  // longest time between first and last byte of a message, in or out
  };
  // Answers one message. To be called once, immediately or later. When the connection is gone,
  // nothing is written, and `sent` is called at once.
  class Reply {
   public:
    using Write = std::function<void(std::string answer, std::function<void()> sent, Fd passed)>;
    Reply() = default;
    Reply(std::nullptr_t) {}
    explicit Reply(Write write) : write_(std::move(write)) {}
    explicit operator bool() const { return write_ != nullptr; }
    // `sent` (may be null) is called once the answer was written or could not be.
    void operator()(std::string answer, std::function<void()> sent) const {
      write_(std::move(answer), std::move(sent), Fd());
    }
    // The answer's first byte carries a descriptor (SCM_RIGHTS); the peer gets its own copy.
    void with_descriptor(std::string answer, Fd passed) const {
      write_(std::move(answer), nullptr, std::move(passed));
    }

   private:
    Write write_;
  };
  struct Handlers {
    std::function<void(std::string_view message, Reply reply)> on_message;
    std::string too_long;  // the answer to a message over the limit
    std::string too_many;  // the answer to a connection over the limit; may be empty
  };

  // Creates the socket `path` (at most 107 bytes; an existing file is replaced) and serves it.
  static Result<std::unique_ptr<RequestSocket>> open(boost::asio::any_io_executor executor,
                                                     const std::string& path, Limits limits,
                                                     Handlers handlers);
  // Closes all connections and removes `path`. Afterwards no answer is written and on_message is
  // not called. `sent` is still called: for an answer that is being written, and for later ones.
  virtual ~RequestSocket() = default;
};

}  // namespace robustrun::base
