#pragma once
// TLS over a connected TCP socket. Private to wire/.
//
// read() and write() start with the handshake if it is not done. To check the peer's identity
// before a byte goes out, call handshake() until it returns Waits::kNothing.

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
  // `fd` is not owned. The context may be destroyed before the stream.
  [[nodiscard]] static base::Result<std::unique_ptr<TlsStream>> make(const TlsContext& context,
                                                                     int fd, Side side);

  // kPermission: one side rejects the other's certificate.
  [[nodiscard]] base::Result<Waits> handshake();
  // For a server: whether TLS's client hello has come completely and was answered.
  [[nodiscard]] bool heard_hello() const;
  // Whether everything that the kernel has received so far has been read.
  [[nodiscard]] bool is_silent() const;
  // After the handshake: the URI in the peer's certificate. nullopt: no certificate, or not exactly
  // one name in it.
  [[nodiscard]] std::optional<std::string> peer_uri() const;
  [[nodiscard]] bool peer_has_certificate() const;
  [[nodiscard]] std::string peer_fingerprint() const;  // empty without a certificate

  [[nodiscard]] base::Result<Moved> read(std::span<char> room) override;
  [[nodiscard]] base::Result<Moved> write(std::string_view bytes) override;
  [[nodiscard]] bool has_input() const override;
  [[nodiscard]] bool finish() override;

 private:
  // Where TLS's own bytes go, and the error of the last system call.
  struct Socket {
    int fd = -1;
    int os_errno = 0;
    bool ended = false;
  };
  friend struct SocketBio;

  TlsStream() = default;
  // What an SSL call that returned `result` waits for, or why it failed for good.
  [[nodiscard]] base::Result<Waits> stopped(int result);
  [[nodiscard]] base::Error failure();

  Socket socket_;  // ssl_ points to it
  SslPtr ssl_;
  std::optional<base::Error> failed_;  // occurred after some bytes had been read
};

}  // namespace robustrun::wire
