#include "wire/net/stream.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "wire/messages/limits.h"

namespace robustrun::wire {
namespace {

bool would_block(int os_errno) { return os_errno == EAGAIN || os_errno == EINTR; }

class SocketStream final : public Stream {
 public:
  SocketStream(int fd, bool local) : fd_(fd), local_(local) {}

  base::Result<Moved> read(std::span<char> room) override {
    const ssize_t size = ::recv(fd_, room.data(), room.size(), MSG_DONTWAIT);
    if (size == 0) return std::unexpected(peer_closed());
    if (size < 0) return stopped(Waits::kReadable);
    const auto bytes = static_cast<std::size_t>(size);
    // A short read has emptied the socket: another read would only confirm that.
    return Moved{bytes, bytes < room.size() ? Waits::kReadable : Waits::kNothing};
  }

  base::Result<Moved> write(std::string_view bytes) override {
    const ssize_t size = ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (size < 0) return stopped(Waits::kWritable);
    const auto taken = static_cast<std::size_t>(size);
    return Moved{taken, taken < bytes.size() ? Waits::kWritable : Waits::kNothing};
  }

  bool finish() override {
    if (local_) return false;  // bytes written to a local socket stay readable
    return ::shutdown(fd_, SHUT_WR) == 0;
  }

 private:
  static base::Result<Moved> stopped(Waits waits) {
    if (would_block(errno)) return Moved{0, waits};
    return std::unexpected(connection_broke(errno));
  }

  int fd_;
  bool local_;
};

}  // namespace

base::Result<std::unique_ptr<Stream>> make_socket_stream(int fd) {
  int domain = AF_UNIX;
  socklen_t size = sizeof domain;
  if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 ||
      ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    return std::unexpected(connection_broke(errno));
  }
  if (auto set = base::set_nonblocking(fd, true); !set) {
    return std::unexpected(std::move(set).error());
  }
  return std::make_unique<SocketStream>(fd, domain == AF_UNIX);
}

base::Error peer_closed() {
  return {base::Errc::kUnavailable, 0, "the peer closed the connection"};
}

base::Error connection_broke(int os_errno) {
  return base::fail_errno("the connection to the peer broke", os_errno).error();
}

bool is_broken(int fd) {
  pollfd state{.fd = fd, .events = 0, .revents = 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLERR | POLLHUP)) != 0;
}

bool discard_input(int fd) {
  // MSG_TRUNC: TCP counts the bytes and copies none.
  for (std::size_t taken = 0; taken < kReadTurnBytes;) {
    const ssize_t size = ::recv(fd, nullptr, kReadTurnBytes, MSG_DONTWAIT | MSG_TRUNC);
    if (size == 0) return true;
    if (size < 0) return !would_block(errno);
    taken += static_cast<std::size_t>(size);
  }
  return false;
}

}  // namespace robustrun::wire
