#pragma once
// TLS over a connected TCP socket. For wire/*.cpp alone.
//
// read() and write() shake hands first when that has not happened; whoever wants to look at the
// peer before a byte goes out calls handshake() until it waits for nothing.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "wire/messages/openssl_values.h"
#include "wire/net/stream.h"
#include "wire/tls/context.h"

namespace robustrun::wire {

class TlsStream final : public Stream {
 public:
  enum class Side : std::uint8_t { kServer, kClient };
  // The context may go before the stream.
  [[nodiscard]] static base::Result<std::unique_ptr<TlsStream>> make(const TlsContext& context,
                                                                     int fd, Side side);

  // kPermission: one side does not believe the other.
  [[nodiscard]] base::Result<Waits> handshake();
  // Server: the peer's hello came, whole, and was answered.
  [[nodiscard]] bool heard_hello() const;
  // Everything that has come was read.
  [[nodiscard]] bool is_silent() const;
  // After the handshake, from the peer's certificate: none when it has none.
  [[nodiscard]] std::optional<std::string> peer_uri() const;
  [[nodiscard]] bool peer_has_certificate() const;
  [[nodiscard]] std::string peer_fingerprint() const;

  [[nodiscard]] base::Result<Moved> read(std::span<char> room) override;
  [[nodiscard]] base::Result<Moved> write(std::string_view bytes) override;
  [[nodiscard]] bool has_input() const override;
  [[nodiscard]] bool finish() override;

 private:
  // Where TLS's own bytes go; the error of the last system call.
  struct Socket {
    int fd = -1;
    int os_errno = 0;
    bool ended = false;
  };
  friend struct SocketBio;

  TlsStream() = default;
  // What a call that returned `result` waits for, or why it failed for good.
  [[nodiscard]] base::Result<Waits> stopped(int result);
  [[nodiscard]] base::Error failure();

  Socket socket_;   // ssl_ points to it
  SslPtr ssl_;
  std::optional<base::Error> failed_;   // met after some bytes had been read
};

}  // namespace robustrun::wire
