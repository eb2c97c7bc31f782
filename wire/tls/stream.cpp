#include "wire/tls/stream.h"

#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "wire/messages/limits.h"

namespace robustrun::wire {

using base::Errc;

// OpenSSL's own socket BIO would raise SIGPIPE.
struct SocketBio {
  using MethodPtr = std::unique_ptr<BIO_METHOD, OpensslFree<BIO_meth_free>>;
  using Socket = TlsStream::Socket;

  static const BIO_METHOD* method() {
    static const MethodPtr method = make();
    return method.get();
  }

  static MethodPtr make() {
    MethodPtr method(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "robustrun socket"));
    RR_ASSERT(method != nullptr && BIO_meth_set_read(method.get(), read) == 1 &&
              BIO_meth_set_write(method.get(), write) == 1 &&
              BIO_meth_set_ctrl(method.get(), control) == 1);
    return method;
  }

  static int done(BIO* bio, Socket& socket, ssize_t size, int retry) {
    BIO_clear_retry_flags(bio);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_flags(bio, retry);
    if (size < 0) socket.os_errno = errno;
    return static_cast<int>(size);
  }

  static int read(BIO* bio, char* data, int size) {
    auto& socket = *static_cast<Socket*>(BIO_get_data(bio));
    const ssize_t got = ::recv(socket.fd, data, static_cast<std::size_t>(size), MSG_DONTWAIT);
    socket.ended = socket.ended || got == 0;
    return done(bio, socket, got, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
  }

  static int write(BIO* bio, const char* data, int size) {
    auto& socket = *static_cast<Socket*>(BIO_get_data(bio));
    const ssize_t sent =
        ::send(socket.fd, data, static_cast<std::size_t>(size), MSG_DONTWAIT | MSG_NOSIGNAL);
    return done(bio, socket, sent, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY);
  }

  static long control(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_EOF) return static_cast<Socket*>(BIO_get_data(bio))->ended ? 1 : 0;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }
};

base::Result<std::unique_ptr<TlsStream>> TlsStream::make(const TlsContext& context, int fd,
                                                         Side side) {
  std::unique_ptr<TlsStream> stream(new TlsStream);
  stream->socket_.fd = fd;
  stream->ssl_.reset(SSL_new(context.get()));
  BIO* const bio = stream->ssl_ ? BIO_new(SocketBio::method()) : nullptr;
  if (bio == nullptr) return fail_openssl(Errc::kLimit, "cannot begin a TLS connection");
  BIO_set_data(bio, &stream->socket_);
  BIO_set_init(bio, 1);
  SSL_set_bio(stream->ssl_.get(), bio, bio);
  if (side == Side::kServer) {
    SSL_set_accept_state(stream->ssl_.get());
  } else {
    SSL_set_connect_state(stream->ssl_.get());
  }
  return stream;
}

base::Error TlsStream::failure() {
  const long verified = SSL_get_verify_result(ssl_.get());
  if (verified != X509_V_OK) {
    ERR_clear_error();
    return {Errc::kPermission, 0,
            std::string("the peer's certificate is not of this run: ") +
                X509_verify_cert_error_string(verified)};
  }
  const int alert = ERR_GET_REASON(ERR_peek_last_error()) - SSL_AD_REASON_OFFSET;
  const std::string text = openssl_reason();
  if ((alert >= SSL_AD_BAD_CERTIFICATE && alert <= SSL_AD_CERTIFICATE_UNKNOWN) ||
      alert == SSL_AD_UNKNOWN_CA || alert == SSL_AD_ACCESS_DENIED) {
    return {Errc::kPermission, 0, "the peer rejects our certificate: " + text};
  }
  return {Errc::kProtocol, 0, "TLS with the peer failed: " + text};
}

base::Result<Stream::Waits> TlsStream::stopped(int result) {
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ: return Waits::kReadable;
    case SSL_ERROR_WANT_WRITE: return Waits::kWritable;
    case SSL_ERROR_ZERO_RETURN: return std::unexpected(peer_closed());
    case SSL_ERROR_SYSCALL:
      if (socket_.ended || socket_.os_errno == 0) return std::unexpected(peer_closed());
      return std::unexpected(connection_broke(socket_.os_errno));
    default: return std::unexpected(failure());
  }
}

base::Result<Stream::Waits> TlsStream::handshake() {
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) return Waits::kNothing;
  return stopped(result);
}

bool TlsStream::heard_hello() const { return BIO_number_written(SSL_get_wbio(ssl_.get())) > 0; }

bool TlsStream::is_silent() const {
  char byte = 0;
  return ::recv(socket_.fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

bool TlsStream::has_input() const { return SSL_has_pending(ssl_.get()) == 1; }

bool TlsStream::peer_has_certificate() const {
  return SSL_get0_peer_certificate(ssl_.get()) != nullptr;
}

std::optional<std::string> TlsStream::peer_uri() const {
  const X509* const certificate = SSL_get0_peer_certificate(ssl_.get());
  if (certificate == nullptr) return std::nullopt;
  return uri_of(*certificate);
}

std::string TlsStream::peer_fingerprint() const {
  const X509* const certificate = SSL_get0_peer_certificate(ssl_.get());
  return certificate == nullptr ? std::string() : fingerprint_of(*certificate);
}

base::Result<Stream::Moved> TlsStream::read(std::span<char> room) {
  if (failed_) return std::unexpected(*failed_);
  Moved moved;
  ERR_clear_error();
  // One call gives at most one record.
  while (moved.bytes < room.size()) {
    std::size_t size = 0;
    const int result =
        SSL_read_ex(ssl_.get(), room.data() + moved.bytes, room.size() - moved.bytes, &size);
    if (result != 1) {
      auto waits = stopped(result);
      if (waits) {
        moved.waits = *waits;
        return moved;
      }
      if (moved.bytes == 0) return std::unexpected(std::move(waits).error());
      failed_ = std::move(waits).error();
      return moved;
    }
    moved.bytes += size;
    if (SSL_has_pending(ssl_.get()) == 0) {
      moved.waits = Waits::kReadable;
      return moved;
    }
  }
  return moved;
}

base::Result<Stream::Moved> TlsStream::write(std::string_view bytes) {
  Moved moved;
  ERR_clear_error();
  bytes = bytes.substr(0, kWriteTurnBytes);
  while (moved.bytes < bytes.size()) {
    std::size_t size = 0;
    const std::string_view piece = bytes.substr(moved.bytes, std::size_t{SSL3_RT_MAX_PLAIN_LENGTH});
    const int result = SSL_write_ex(ssl_.get(), piece.data(), piece.size(), &size);
    if (result != 1) {
      moved.waits = RR_TRY(stopped(result));
      return moved;
    }
    moved.bytes += size;
  }
  return moved;
}

bool TlsStream::finish() {
  // Before the handshake there is no close_notify, and nothing valuable on its way.
  if (SSL_is_init_finished(ssl_.get()) != 1) return false;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());  // omitted if it does not fit into the socket
  ERR_clear_error();
  return ::shutdown(socket_.fd, SHUT_WR) == 0;
}

}  // namespace robustrun::wire
