#include "base/io/request_socket.h"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "base/io/accept_loop.h"
#include "base/io/fd.h"
#include "base/io/limits.h"

namespace robustrun::base {
namespace {

namespace asio = boost::asio;
using Stream = asio::local::stream_protocol::socket;
using boost::system::error_code;

constexpr std::size_t kLengthBytes = 4;

std::string framed(std::string_view message) {
  const auto length = static_cast<std::uint32_t>(message.size());
  std::string frame;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    frame += static_cast<char>((length >> shift) & 0xFF);
  }
  return frame.append(message);
}

// Sends one byte together with the descriptor.
bool send_with(int socket, char byte, const Fd& passed) {
  iovec bytes{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = passed.get();
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

// One peer: reads a message, writes its answer, and so on; one message at a time.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Owner {
    virtual ~Owner() = default;
    [[nodiscard]] virtual const RequestSocket::Limits& limits() const = 0;
    [[nodiscard]] virtual const RequestSocket::Handlers& handlers() const = 0;
    virtual void closed(const std::shared_ptr<Connection>& connection) = 0;
  };

  Connection(asio::any_io_executor executor, Owner& owner, Fd fd)
      : owner_(&owner), socket_(executor), deadline_(executor) {
    error_code error;
    socket_.assign(asio::local::stream_protocol(), fd.get(), error);
    if (!error) (void)fd.release();
  }

  void read_length() {
    deadline_.cancel();  // between messages a peer may be silent for as long as it lives
    asio::async_read(socket_, asio::buffer(length_, 1),
                     [self = shared_from_this()](const error_code& error, std::size_t) {
                       if (error) return self->close();
                       self->start_deadline();
                       self->read_rest_of_length();
                     });
  }

  // No handler has an effect from here on.
  void abandon() {
    owner_ = nullptr;
    shut();
  }

 private:
  void read_rest_of_length() {
    asio::async_read(socket_, asio::buffer(length_.data() + 1, kLengthBytes - 1),
                     [self = shared_from_this()](const error_code& error, std::size_t) {
                       if (error) return self->close();
                       self->read_message();
                     });
  }

  void read_message() {
    if (owner_ == nullptr) return;
    std::size_t size = 0;
    for (std::size_t i = kLengthBytes; i-- > 0;) size = size << 8 | length_[i];
    if (size > owner_->limits().message_bytes_max) {
      return write(owner_->handlers().too_long, true, nullptr);
    }
    message_.assign(size, '\0');
    asio::async_read(socket_, asio::buffer(message_),
                     [self = shared_from_this()](const error_code& error, std::size_t) {
                       if (error || self->owner_ == nullptr) return self->close();
                       self->hand_out();
                     });
  }

  void hand_out() {
    deadline_.cancel();  // an answer may take any time
    auto write = [weak = weak_from_this()](const std::string& answer, std::function<void()> sent,
                                           Fd passed) {
      auto self = weak.lock();
      if (self && self->owner_ != nullptr) {
        return passed ? self->write_with(answer, std::move(passed))
                      : self->write(answer, false, std::move(sent));
      }
      if (sent) sent();
    };
    owner_->handlers().on_message(message_, RequestSocket::Reply(std::move(write)));
  }

  void write_with(std::string_view answer, Fd passed) {
    start_deadline();
    message_ = framed(answer);
    socket_.async_wait(Stream::wait_write, [self = shared_from_this(),
                                            passed = std::move(passed)](const error_code& error) {
      if (error || !send_with(self->socket_.native_handle(), self->message_.front(), passed)) {
        return self->close();
      }
      asio::async_write(self->socket_, asio::buffer(self->message_) + 1,
                        [self](const error_code& failed, std::size_t) {
                          if (failed) return self->close();
                          self->read_length();
                        });
    });
  }

  void write(std::string_view answer, bool last, std::function<void()> sent) {
    start_deadline();
    message_ = framed(answer);
    asio::async_write(socket_, asio::buffer(message_),
                      [self = shared_from_this(), last, sent = std::move(sent)](
                          const error_code& error, std::size_t) {
                        if (sent) sent();
                        if (error || last) return self->close();
                        self->read_length();
                      });
  }

  void start_deadline() {
    if (owner_ == nullptr) return;
    deadline_.expires_after(owner_->limits().message_time);
    deadline_.async_wait([self = shared_from_this()](const error_code& error) {
      if (!error) self->close();
    });
  }

  void close() {
    shut();
    if (Owner* const owner = std::exchange(owner_, nullptr)) owner->closed(shared_from_this());
  }

  void shut() {
    error_code ignored;
    deadline_.cancel();
    socket_.close(ignored);
  }

  Owner* owner_;
  Stream socket_;
  asio::steady_timer deadline_;
  std::array<unsigned char, kLengthBytes> length_{};
  std::string message_;
};

// All open connections of one socket.
class Connections : public Connection::Owner {
 public:
  Connections(asio::any_io_executor executor, RequestSocket::Limits limits,
              RequestSocket::Handlers handlers)
      : executor_(executor), limits_(limits), handlers_(std::move(handlers)) {}
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  void dismiss() {
    for (const auto& connection : connections_) connection->abandon();
    connections_.clear();
  }

  [[nodiscard]] const RequestSocket::Limits& limits() const override { return limits_; }
  [[nodiscard]] const RequestSocket::Handlers& handlers() const override { return handlers_; }
  void closed(const std::shared_ptr<Connection>& connection) override {
    connections_.erase(connection);
  }

  void welcome(Fd peer) {
    if (!is_ours(peer.get())) return;
    if (connections_.size() >= limits_.connections_max) {
      if (handlers_.too_many.empty()) return;
      const std::string frame = framed(handlers_.too_many);
      static_cast<void>(
          ::send(peer.get(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
      return;
    }
    auto connection = std::make_shared<Connection>(executor_, *this, std::move(peer));
    connections_.insert(connection);
    connection->read_length();
  }

 private:
  static bool is_ours(int fd) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
  }

  asio::any_io_executor executor_;
  RequestSocket::Limits limits_;
  RequestSocket::Handlers handlers_;
  std::set<std::shared_ptr<Connection>> connections_;
};

Result<Fd> listen_at(const std::string& path, std::size_t backlog) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot make the socket {}: its path is longer than {} bytes; "
                            "set XDG_RUNTIME_DIR to a shorter one",
                            path, sizeof address.sun_path - 1));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail_errno("cannot make a socket", errno);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return fail_errno("cannot replace the socket " + path, errno);
  }
  // The mode of an unbound socket is the mode of the file that bind() makes (less the umask):
  // there is no moment at which others could connect.
  if (::fchmod(fd.get(), 0600) != 0 ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(fd.get(), static_cast<int>(backlog)) != 0) {
    return fail_errno("cannot make the socket " + path, errno);
  }
  return fd;
}

class RequestSocketImpl final : public RequestSocket {
 public:
  RequestSocketImpl(asio::any_io_executor executor, std::shared_ptr<Connections> connections,
                    std::unique_ptr<AcceptLoop> loop, std::string path)
      : executor_(std::move(executor)),
        connections_(std::move(connections)),
        loop_(std::move(loop)),
        path_(std::move(path)) {}
  RequestSocketImpl(const RequestSocketImpl&) = delete;
  RequestSocketImpl& operator=(const RequestSocketImpl&) = delete;
  ~RequestSocketImpl() override {
    loop_.reset();
    connections_->dismiss();
    // A handler of one of them may be what destroys this object.
    asio::post(executor_, [connections = std::move(connections_)] {});
    ::unlink(path_.c_str());
  }

 private:
  asio::any_io_executor executor_;
  std::shared_ptr<Connections> connections_;
  std::unique_ptr<AcceptLoop> loop_;
  std::string path_;
};

}  // namespace

Result<std::unique_ptr<RequestSocket>> RequestSocket::open(boost::asio::any_io_executor executor,
                                                           const std::string& path, Limits limits,
                                                           Handlers handlers) {
  Fd fd = RR_TRY(listen_at(path, limits.connections_max));
  auto connections = std::make_shared<Connections>(executor, limits, std::move(handlers));
  auto loop = AcceptLoop::start(
      executor, std::move(fd), [to = connections.get()](Fd peer) { to->welcome(std::move(peer)); });
  if (!loop) return fail_errno("cannot wait on the socket " + path, loop.error().os_errno);
  return std::make_unique<RequestSocketImpl>(executor, std::move(connections), *std::move(loop),
                                             path);
}

}  // namespace robustrun::base
