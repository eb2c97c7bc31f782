#include "base/io/accept_loop.h"

#include <sys/socket.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <utility>

#include "base/io/limits.h"

namespace robustrun::base {
namespace {

using boost::asio::posix::stream_descriptor;

// Kept alive by its pending waits; AcceptLoop is only the owner.
class ListeningSocket : public std::enable_shared_from_this<ListeningSocket> {
 public:
  ListeningSocket(const boost::asio::any_io_executor& executor, std::function<void(Fd)> on_peer)
      : socket_(executor), pause_(executor), on_peer_(std::move(on_peer)) {}

  Status start(Fd fd) {
    boost::system::error_code error;
    socket_.assign(fd.get(), error);
    if (error) return fail_errno("cannot listen", error.value());
    static_cast<void>(fd.release());
    wait();
    return {};
  }

  void stop() {
    on_peer_ = nullptr;
    boost::system::error_code ignored;
    socket_.close(ignored);
    pause_.cancel();
  }

 private:
  void wait() {
    socket_.async_wait(stream_descriptor::wait_read,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                         if (!error && self->on_peer_) self->accept();
                       });
  }

  // One per turn, so that a flood of connections does not monopolise the loop.
  void accept() {
    // Asio's own accept leaves the descriptor inheritable.
    Fd fd(::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd && errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) return rest();
    wait();
    if (fd) on_peer_(std::move(fd));
  }

  // The peer is still waiting in the queue: without a pause the loop would spin.
  void rest() {
    pause_.expires_after(kAcceptPause);
    pause_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error && self->on_peer_) self->wait();
    });
  }

  stream_descriptor socket_;
  boost::asio::steady_timer pause_;
  std::function<void(Fd)> on_peer_;
};

class AcceptLoopImpl final : public AcceptLoop {
 public:
  explicit AcceptLoopImpl(std::shared_ptr<ListeningSocket> socket) : socket_(std::move(socket)) {}
  AcceptLoopImpl(const AcceptLoopImpl&) = delete;
  AcceptLoopImpl& operator=(const AcceptLoopImpl&) = delete;
  ~AcceptLoopImpl() override { socket_->stop(); }

 private:
  std::shared_ptr<ListeningSocket> socket_;
};

}  // namespace

Result<std::unique_ptr<AcceptLoop>> AcceptLoop::start(boost::asio::any_io_executor executor,
                                                      Fd listening,
                                                      std::function<void(Fd)> on_peer) {
  auto socket = std::make_shared<ListeningSocket>(executor, std::move(on_peer));
  RR_TRY(socket->start(std::move(listening)));
  return std::make_unique<AcceptLoopImpl>(std::move(socket));
}

}  // namespace robustrun::base
