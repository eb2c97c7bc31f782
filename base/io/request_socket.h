#pragma once
// A unix stream socket that answers messages of this user's processes: a worker's questions to its
// agent, a person's orders to a running supervisor. On the owner's loop.
//
// A message is a length (4 bytes, little endian) and its bytes, both ways; each gets one answer,
// in order, and a connection may carry many. The socket is 0600, and a peer of another user is
// refused by SO_PEERCRED. A peer that sends too much, or stops in the middle of a message, loses
// its connection; nothing it does reaches anybody else.

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
    std::size_t connections_max = 0;   // at a time; one more is closed at once
    Nanos message_time{};              // from its first byte to its last, either way
  };
  // To be called once, at once or later; does nothing when the connection is gone by then.
  class Reply {
   public:
    using Write = std::function<void(std::string answer, std::function<void()> sent, Fd passed)>;
    Reply() = default;
    Reply(std::nullptr_t) {}  // of nobody
    explicit Reply(Write write) : write_(std::move(write)) {}
    explicit operator bool() const { return write_ != nullptr; }
    // `sent` (may be null) is called when the answer was written, or could not be.
    void operator()(std::string answer, std::function<void()> sent) const {
      write_(std::move(answer), std::move(sent), Fd());
    }
    // The answer's first byte carries a descriptor (SCM_RIGHTS), of which the peer gets its own.
    void with_descriptor(std::string answer, Fd passed) const {
      write_(std::move(answer), nullptr, std::move(passed));
    }

   private:
    Write write_;
  };
  struct Handlers {
    std::function<void(std::string_view message, Reply reply)> on_message;
    std::string too_long;  // the answer to a message over the limit
  };

  // Makes `path` anew (at most 107 bytes; a stale socket there is replaced) and starts serving.
  static Result<std::unique_ptr<RequestSocket>> open(boost::asio::any_io_executor executor,
                                                     const std::string& path, Limits limits,
                                                     Handlers handlers);
  // Closes all connections and removes `path`; no answer is written and no handler called
  // afterwards.
  virtual ~RequestSocket() = default;
};

}  // namespace robustrun::base
