#pragma once
// A connected stream as a channel uses it: a plain socket, or TLS over TCP (wire/tls/stream.h).
// Private to wire/.
//
// Works on a non-blocking descriptor that it does not own; never waits, never calls back. The
// orderly end of the peer's bytes is an error too: kUnavailable.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::wire {

class Stream {
 public:
  // What the descriptor must become before more bytes can be moved.
  enum class Waits : std::uint8_t { kNothing, kReadable, kWritable };
  struct Moved {
    std::size_t bytes = 0;
    Waits waits = Waits::kNothing;
  };

  virtual ~Stream() = default;
  [[nodiscard]] virtual base::Result<Moved> read(std::span<char> room) = 0;
  [[nodiscard]] virtual base::Result<Moved> write(std::string_view bytes) = 0;
  // Bytes from the peer are buffered here although the descriptor is not readable.
  [[nodiscard]] virtual bool has_input() const { return false; }
  // Tells the peer that no more bytes follow. True: closing the descriptor at once could lose bytes
  // on their way, so wait a while for the peer's end (with discard_input()).
  [[nodiscard]] virtual bool finish() = 0;
};

// A descriptor with the stream that works on it.
struct Connection {
  base::Fd fd;
  std::unique_ptr<Stream> stream;
};

// Makes `fd` non-blocking and CLOEXEC; fails when it is not a socket.
[[nodiscard]] base::Result<std::unique_ptr<Stream>> make_socket_stream(int fd);

[[nodiscard]] base::Error peer_closed();
[[nodiscard]] base::Error connection_broke(int os_errno);
// Whether the connection is dead in both directions.
[[nodiscard]] bool is_broken(int fd);
// Discards pending input; true when no more can come.
[[nodiscard]] bool discard_input(int fd);

}  // namespace robustrun::wire
