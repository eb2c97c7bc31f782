#pragma once
// A connected stream as a channel uses it: a plain socket, or TLS over TCP (wire/tls/stream.h).
// Private to wire/.
//
// A stream does not own its descriptor, never waits and never calls back. After the orderly end of
// the peer's bytes, read() fails with kUnavailable.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::wire {

class Stream {
 public:
  // What the descriptor must become before more bytes can be moved. kNothing: call again at once.
  enum class Waits : std::uint8_t { kNothing, kReadable, kWritable };
  struct Moved {
    std::size_t bytes = 0;
    Waits waits = Waits::kNothing;
  };

  virtual ~Stream() = default;
  [[nodiscard]] virtual base::Result<Moved> read(std::span<char> room) = 0;
  [[nodiscard]] virtual base::Result<Moved> write(std::string_view bytes) = 0;
  // Whether the stream holds bytes from the peer, so that read() succeeds although the descriptor
  // may not be readable.
  [[nodiscard]] virtual bool has_input() const { return false; }
  // Tells the peer that no more bytes follow. True: closing the descriptor at once could lose bytes
  // that are on their way, so the caller waits a while until discard_input() returns true.
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
// Discards pending input, at most kReadTurnBytes per call. True when no more can come.
[[nodiscard]] bool discard_input(int fd);

}  // namespace robustrun::wire
