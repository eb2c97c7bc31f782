#include "wire/net/bounded_listener.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <deque>
#include <list>
#include <utility>

#include "base/core/clock.h"
#include "wire/messages/limits.h"
#include "wire/net/peer_user.h"
#include "wire/net/tcp.h"

namespace robustrun::wire {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

bool is_shortage(int os_errno) {
  return os_errno == EMFILE || os_errno == ENFILE || os_errno == ENOBUFS || os_errno == ENOMEM;
}

// Most descriptors are for others.
std::size_t strangers_max() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 0;
  return std::min<rlim_t>(kWaitingStrangersMax, files.rlim_cur / 4);
}

// Kept alive by the socket's waits and the slots; the BoundedListener itself is only its owner.
class BoundedSocket : public std::enable_shared_from_this<BoundedSocket> {
 public:
  BoundedSocket(const boost::asio::any_io_executor& executor, std::size_t slots,
                BoundedListener::Handlers handlers)
      : socket_(executor),
        retry_(executor),
        crowd_(executor),
        slots_(slots),
        handlers_(std::move(handlers)) {}

  base::Status start(base::Fd fd) {
    error_code error;
    socket_.assign(fd.get(), error);
    if (error) return base::fail_errno("cannot listen", error.value());
    static_cast<void>(fd.release());
    wait_for_peer();
    return {};
  }

  void stop() {
    error_code ignored;
    socket_.close(ignored);
    retry_.cancel();
    crowd_.cancel();
    strangers_.clear();
  }

  BoundedListener::Slot take_slot() {
    ++taken_;
    const auto place = turns_.insert(turns_.end(), TurnSince{.since = base::SystemClock().now()});
    BoundedListener::Slot slot(new BoundedListener::Turn, [self = shared_from_this(), place](
                                                              const BoundedListener::Turn* turn) {
      delete turn;
      self->turns_.erase(place);
      self->on_free_slot();
    });
    place->slot = slot;
    return slot;
  }

 private:
  void on_free_slot() {
    --taken_;
    if (!socket_.is_open()) return;
    if (std::exchange(is_full_, false)) wait_for_peer();
    if (strangers_.empty()) return;
    boost::asio::post(socket_.get_executor(),
                      [self = shared_from_this()] { self->serve_strangers(); });
  }

  // Takes what was accepted in a listener that knows peers.
  void take(base::Fd fd) {
    if (known_ < kKnownHandshakesMax && handlers_.is_known(fd.get())) {
      ++known_;
      const auto self = shared_from_this();
      return handlers_.on_connection(std::move(fd), {new BoundedListener::Turn, [self](auto* turn) {
                                                       delete turn;
                                                       --self->known_;
                                                     }});
    }
    // One too many is closed here.
    if (strangers_.size() < strangers_max_) strangers_.push_back(std::move(fd));
    serve_strangers();
  }

  void serve_strangers() {
    while (!strangers_.empty() && socket_.is_open()) {
      if (taken_ >= slots_) {
        if (const auto ask_again = free_a_slot()) {
          crowd_.expires_after(*ask_again);
          return crowd_.async_wait([self = shared_from_this()](error_code error) {
            if (!error) self->serve_strangers();
          });
        }
        continue;
      }
      base::Fd fd = std::move(strangers_.front());
      strangers_.pop_front();
      handlers_.on_connection(std::move(fd), take_slot());
    }
  }

  void wait_for_peer() {
    socket_.async_wait(stream_descriptor::wait_read, [self = shared_from_this()](error_code error) {
      if (!error) self->accept_some();
    });
  }

  // A bounded number per turn, so that a flood of connections does not monopolise the loop.
  void accept_some() {
    const int most = handlers_.is_known ? kAcceptsPerTurnOfMany : kAcceptsPerTurn;
    for (int i = 0; i < most && socket_.is_open(); ++i) {
      if (taken_ >= slots_ && !handlers_.is_known) {
        if (!has_peer_waiting()) break;
        if (!make_room()) return;
      }
      // Asio's own accept leaves the descriptor inheritable.
      base::Fd fd(
          ::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      const auto other_user =
          fd && handlers_.on_other_user ? other_user_at(fd.get()) : std::nullopt;
      if (other_user) {
        handlers_.on_other_user(*other_user);
      } else if (fd && handlers_.is_known) {
        take(std::move(fd));
      } else if (fd) {
        handlers_.on_connection(std::move(fd), take_slot());
      } else if (is_shortage(errno) && !strangers_.empty()) {
        strangers_.pop_back();  // the one behind it may be known
      } else if (errno == EAGAIN) {
        break;
      } else if (errno != EINTR && errno != ECONNABORTED) {
        return rest(errno);
      }
    }
    if (socket_.is_open()) wait_for_peer();
  }

  bool has_peer_waiting() {
    pollfd waiting{.fd = socket_.native_handle(), .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, 0) > 0;
  }

  // False: accepting resumes when a slot is given back, or when on_crowded is due again.
  bool make_room() {
    const auto ask_again = free_a_slot();
    if (!socket_.is_open()) return false;
    if (!ask_again) return true;
    is_full_ = true;
    try_again_after(*ask_again, [](BoundedSocket& self) {
      if (std::exchange(self.is_full_, false)) self.accept_some();
    });
    return false;
  }

  // As on_crowded; without one, the oldest gives up its slot once it had its time.
  std::optional<base::Nanos> free_a_slot() {
    if (handlers_.on_crowded) return handlers_.on_crowded();
    const base::Nanos now = base::SystemClock().now();
    for (const TurnSince& turn : turns_) {
      const base::Nanos left = turn.since + handlers_.patience - now;
      if (left > base::Nanos{}) return left;
      BoundedListener::Slot oldest = turn.slot.lock();
      if (!oldest->give_up) continue;
      std::exchange(oldest->give_up, nullptr)();
      oldest = nullptr;
      // The slot is free now, or on_free_slot() goes on soon.
      if (taken_ < slots_) return std::nullopt;
      break;
    }
    return handlers_.patience;
  }

  // Other connections may release descriptors or memory.
  void rest(int os_errno) {
    if (is_shortage(os_errno) && handlers_.on_shortage) handlers_.on_shortage(os_errno);
    if (!socket_.is_open()) return;
    try_again_after(kAcceptRetry, [](BoundedSocket& self) { self.accept_some(); });
  }

  void try_again_after(base::Nanos pause, void (*go_on)(BoundedSocket&)) {
    retry_.expires_after(pause);
    retry_.async_wait([self = shared_from_this(), go_on](error_code error) {
      if (!error && self->socket_.is_open()) go_on(*self);
    });
  }

  struct TurnSince {
    base::Nanos since;
    std::weak_ptr<BoundedListener::Turn> slot = {};
  };

  stream_descriptor socket_;
  boost::asio::steady_timer retry_;
  boost::asio::steady_timer crowd_;
  std::size_t slots_;
  BoundedListener::Handlers handlers_;
  std::size_t taken_ = 0;
  std::size_t known_ = 0;
  std::list<TurnSince> turns_;  // of the taken slots, oldest first
  const std::size_t strangers_max_ = strangers_max();
  std::deque<base::Fd> strangers_;  // that wait for a slot; with is_known
  bool is_full_ = false;  // no wait for a peer is under way, until a slot is given back
};

class BoundedListenerImpl final : public BoundedListener {
 public:
  BoundedListenerImpl(std::shared_ptr<BoundedSocket> socket, std::uint16_t port)
      : socket_(std::move(socket)), port_(port) {}
  BoundedListenerImpl(const BoundedListenerImpl&) = delete;
  BoundedListenerImpl& operator=(const BoundedListenerImpl&) = delete;
  ~BoundedListenerImpl() override { socket_->stop(); }

  [[nodiscard]] Slot take_slot() override { return socket_->take_slot(); }
  [[nodiscard]] std::uint16_t port() const override { return port_; }

 private:
  std::shared_ptr<BoundedSocket> socket_;
  std::uint16_t port_;
};

}  // namespace

base::Result<std::unique_ptr<BoundedListener>> BoundedListener::open(
    boost::asio::any_io_executor executor, const std::string& address, std::uint16_t port,
    std::size_t slots, Handlers handlers) {
  RR_ASSERT(slots > 0 && handlers.on_connection);
  base::Fd fd = RR_TRY(listen_tcp(address, port));
  const std::uint16_t bound = local_port(fd.get());
  auto socket = std::make_shared<BoundedSocket>(executor, slots, std::move(handlers));
  RR_TRY(socket->start(std::move(fd)));
  return std::make_unique<BoundedListenerImpl>(std::move(socket), bound);
}

}  // namespace robustrun::wire
