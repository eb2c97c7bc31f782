#pragma once
// A connected stream as a channel sees it: a plain socket, or TLS over TCP (tls_stream.h). For
// wire/*.cpp alone.
//
// Works on a non-blocking descriptor that somebody else owns; never waits, never calls back. The
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
  // What the descriptor must become before more can be moved.
  enum class Waits : std::uint8_t { kNothing, kReadable, kWritable };
  struct Moved {
    std::size_t bytes = 0;
    Waits waits = Waits::kNothing;
  };

  virtual ~Stream() = default;
  [[nodiscard]] virtual base::Result<Moved> read(std::span<char> room) = 0;
  [[nodiscard]] virtual base::Result<Moved> write(std::string_view bytes) = 0;
  // Bytes of the peer are here that the descriptor does not show any more.
  [[nodiscard]] virtual bool has_input() const { return false; }
  // Tells the peer that no more bytes follow. True: closing the descriptor now could take back
  // what is on its way, so the peer's end should be awaited (with discard_input()) for a while.
  [[nodiscard]] virtual bool finish() = 0;
};

// A descriptor with the stream that works on it.
struct Connection {
  base::Fd fd;
  std::unique_ptr<Stream> stream;
};

// Makes `fd` non-blocking and CLOEXEC; fails when it is no socket.
[[nodiscard]] base::Result<std::unique_ptr<Stream>> make_socket_stream(int fd);

[[nodiscard]] base::Error peer_closed();
[[nodiscard]] base::Error connection_broke(int os_errno);
// The connection carries nothing more in either direction.
[[nodiscard]] bool is_broken(int fd);
// Throws away what has come; true when nothing more can come.
[[nodiscard]] bool discard_input(int fd);

}  // namespace robustrun::wire
