#include "wire/acceptor.h"

#include <sys/socket.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <utility>

#include "wire/limits.h"
#include "wire/tcp.h"

namespace robustrun::wire {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

// What its operations hold on to; the Acceptor itself is only its owner.
class Port : public std::enable_shared_from_this<Port> {
 public:
  Port(const boost::asio::any_io_executor& executor, Acceptor::OnConnection on_connection)
      : listening_(executor), rest_(executor), on_connection_(std::move(on_connection)) {}

  base::Status start(base::Fd fd) {
    error_code error;
    listening_.assign(fd.get(), error);
    if (error) return base::fail_errno("cannot listen", error.value());
    static_cast<void>(fd.release());
    wait();
    return {};
  }

  void stop() {
    on_connection_ = nullptr;
    error_code ignored;
    listening_.close(ignored);
    rest_.cancel();
  }

 private:
  void wait() {
    listening_.async_wait(stream_descriptor::wait_read, [self = shared_from_this()](error_code e) {
      if (!e && self->on_connection_) self->accept();
    });
  }

  // One a turn: whoever floods the port does not keep the loop.
  void accept() {
    base::Fd fd(
        ::accept4(listening_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd && errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) return rest();
    wait();
    if (fd) on_connection_(std::move(fd));
  }

  void rest() {
    rest_.expires_after(kAcceptRetry);
    rest_.async_wait([self = shared_from_this()](error_code error) {
      if (!error && self->on_connection_) self->wait();
    });
  }

  stream_descriptor listening_;
  boost::asio::steady_timer rest_;
  Acceptor::OnConnection on_connection_;
};

class TcpAcceptor final : public Acceptor {
 public:
  TcpAcceptor(std::shared_ptr<Port> listening, std::uint16_t port)
      : listening_(std::move(listening)), port_(port) {}
  TcpAcceptor(const TcpAcceptor&) = delete;
  TcpAcceptor& operator=(const TcpAcceptor&) = delete;
  ~TcpAcceptor() override { listening_->stop(); }
  [[nodiscard]] std::uint16_t port() const override { return port_; }

 private:
  std::shared_ptr<Port> listening_;
  std::uint16_t port_;
};

}  // namespace

base::Result<std::unique_ptr<Acceptor>> Acceptor::open(boost::asio::any_io_executor executor,
                                                       OnConnection on_connection) {
  base::Fd fd = RR_TRY(listen_tcp("", 0));
  const std::uint16_t port = local_port(fd.get());
  auto listening = std::make_shared<Port>(executor, std::move(on_connection));
  if (auto started = listening->start(std::move(fd)); !started) {
    return std::unexpected(std::move(started).error());
  }
  return std::make_unique<TcpAcceptor>(std::move(listening), port);
}

std::string endpoint_text(const std::string& address, std::uint16_t port) {
  const bool is_v6 = address.find(':') != std::string::npos;
  return (is_v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

}  // namespace robustrun::wire
