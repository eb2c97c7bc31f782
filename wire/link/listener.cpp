#include "wire/link/listener.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "wire/link/admission.h"
#include "wire/link/stream_channel.h"
#include "wire/net/tcp.h"
#include "wire/net/tcp_dial.h"
#include "wire/tls/context.h"
#include "wire/tls/stream.h"

namespace robustrun::wire {
namespace {

using base::Errc;
using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

// Lets through a bounded number of lines a minute.
class LineLimit {
 public:
  // 0: keep quiet; otherwise how many lines are left in this minute, this one included.
  int take() {
    const base::Nanos now = base::SystemClock().now();
    if (left_ == 0 || now - since_ >= std::chrono::minutes(1)) {
      if (now - since_ < std::chrono::minutes(1)) return 0;
      since_ = now;
      left_ = kRefusalLinesPerMinute;
    }
    return left_--;
  }

 private:
  base::Nanos since_ = -std::chrono::minutes(1);
  int left_ = 0;
};

bool is_shortage(int os_errno) {
  return os_errno == EMFILE || os_errno == ENFILE || os_errno == ENOBUFS || os_errno == ENOMEM;
}

// A connection that has not said who it is.
struct Visitor {
  std::shared_ptr<Channel> channel;
  const TlsStream* tls = nullptr;   // the channel's
  ConnectionAddresses addresses;
  base::Nanos since{};
  bool called = false;   // by us, and may have no need of it
  std::unique_ptr<boost::asio::steady_timer> deadline;
};

// What the listener's handlers hold on to; the Listener itself is only its owner.
class Door : public std::enable_shared_from_this<Door> {
 public:
  Door(const boost::asio::any_io_executor& executor, TlsContext context, Admission admission,
       Listener::Handlers handlers, ListenerLimits limits)
      : listening_(executor),
        retry_(executor),
        context_(std::move(context)),
        admission_(std::move(admission)),
        handlers_(std::move(handlers)),
        limits_(limits) {}

  base::Status start(base::Fd fd);
  void call(const std::string& endpoint);
  void stop();
  [[nodiscard]] const ListenerCounters& counters() const { return counters_; }

 private:
  using Id = std::uint64_t;

  void await_visitor();
  void accept_turn();
  void rest(int os_errno);
  [[nodiscard]] bool someone_waits();
  bool make_room();
  void let_in(base::Fd fd, bool called);
  // Calls `then` with the visitor, who is none of ours any more.
  template <class Then>
  void with(Id id, Then then);
  void on_message(Visitor visitor, Message message);
  void on_stop(const Visitor& visitor, const StopRun& order);
  void on_enrol(const Visitor& visitor, const Enrol& enrol);
  void on_hello(Visitor visitor, Hello hello);
  void refuse(const Visitor& visitor, const base::Error& error);
  void count_refusal(const ConnectionAddresses& addresses, const std::string& why);

  stream_descriptor listening_;
  boost::asio::steady_timer retry_;
  TlsContext context_;
  Admission admission_;
  Listener::Handlers handlers_;
  ListenerLimits limits_;
  ListenerCounters counters_;
  LineLimit lines_;
  std::map<Id, Visitor> visitors_;
  std::map<Id, std::shared_ptr<TcpDial>> calls_;
  Id next_id_ = 0;
  bool full_ = false;      // accepting waits for a visitor to leave or to be silent for too long
  bool is_short_ = false;  // of descriptors or memory, and it was said
  bool stopped_ = false;
};

base::Status Door::start(base::Fd fd) {
  error_code error;
  listening_.assign(fd.get(), error);
  if (error) return base::fail_errno("cannot listen", error.value());
  static_cast<void>(fd.release());
  await_visitor();
  return {};
}

void Door::call(const std::string& endpoint) {
  const Id id = next_id_++;
  calls_.emplace(id, TcpDial::start(listening_.get_executor(), endpoint, kConnectMax,
                                    [weak = weak_from_this(), id](base::Result<base::Fd> reached) {
                                      const auto self = weak.lock();
                                      if (!self || self->stopped_) return;
                                      self->calls_.erase(id);
                                      if (reached) self->let_in(*std::move(reached), true);
                                    }));
}

void Door::stop() {
  stopped_ = true;
  for (const auto& [id, call] : std::exchange(calls_, {})) call->cancel();
  error_code ignored;
  listening_.close(ignored);
  retry_.cancel();
  for (auto& [id, visitor] : std::exchange(visitors_, {})) visitor.channel->close();
}

void Door::await_visitor() {
  listening_.async_wait(stream_descriptor::wait_read,
                        [self = shared_from_this()](error_code error) {
                          if (!error) self->accept_turn();
                        });
}

void Door::accept_turn() {
  for (int i = 0; i < kAcceptsPerTurn && !stopped_; ++i) {
    if (visitors_.size() >= limits_.handshakes_max) {
      if (!someone_waits()) break;
      if (!make_room()) return;
    }
    base::Fd fd(
        ::accept4(listening_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) {
      is_short_ = false;
      let_in(std::move(fd), false);
    } else if (is_shortage(errno)) {
      return rest(errno);
    } else if (errno == EAGAIN) {
      break;
    }
  }
  if (!stopped_) await_visitor();
}

void Door::rest(int os_errno) {
  if (!std::exchange(is_short_, true) && handlers_.on_refused) {
    handlers_.on_refused("cannot accept connections: " + std::string(::strerror(os_errno)) +
                         "; they wait until there is room");
  }
  retry_.expires_after(kAcceptRetry);
  retry_.async_wait([self = shared_from_this()](error_code error) {
    if (!error) self->accept_turn();
  });
}

bool Door::someone_waits() {
  pollfd waiting{.fd = listening_.native_handle(), .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, 0) > 0;
}

// Puts out the oldest of those who are silent, have been in for long enough and have said least.
// False: nobody yet; then accepting goes on as soon as that has changed.
bool Door::make_room() {
  const base::Nanos now = base::SystemClock().now();
  base::Nanos wait = limits_.handshake_max;
  for (const bool after_hello : {false, true}) {
    const base::Nanos patience =
        after_hello ? limits_.silent_after_hello_max : limits_.silent_before_hello_max;
    for (const auto& [id, visitor] : visitors_) {
      if (visitor.tls->heard_hello() != after_hello) continue;
      const base::Nanos left = visitor.since + patience - now;
      if (left <= base::Nanos{} && visitor.tls->is_silent()) {
        with(id, [this](const Visitor& who) {
          who.channel->close();
          count_refusal(who.addresses, "it said nothing while others waited");
        });
        return true;
      }
      wait = std::min(wait, left > base::Nanos{} ? left : base::Nanos(kAcceptRetry));
    }
  }
  full_ = true;
  retry_.expires_after(wait);
  retry_.async_wait([self = shared_from_this()](error_code error) {
    if (!error && std::exchange(self->full_, false)) self->accept_turn();
  });
  return false;
}

void Door::let_in(base::Fd fd, bool called) {
  ++counters_.accepted;
  Visitor visitor;
  visitor.addresses = addresses_of(fd.get());
  auto tls = TlsStream::make(context_, fd.get(), TlsStream::Side::kServer);
  if (!tls) return count_refusal(visitor.addresses, tls.error().what);
  visitor.tls = tls->get();
  visitor.since = base::SystemClock().now();
  visitor.called = called;
  const Id id = next_id_++;
  const std::weak_ptr<Door> weak = weak_from_this();
  const boost::asio::any_io_executor executor = listening_.get_executor();
  visitor.channel = open_channel(executor, {std::move(fd), *std::move(tls)}, Begin::kOneMessage,
                                 {.on_message =
                                      [weak, id](Message message) {
                                        const auto self = weak.lock();
                                        if (!self) return;
                                        self->with(id, [&](Visitor who) {
                                          self->on_message(std::move(who), std::move(message));
                                        });
                                      },
                                  .on_closed =
                                      [weak, id](const base::Error& error) {
                                        const auto self = weak.lock();
                                        if (!self) return;
                                        self->with(id, [&](const Visitor& who) {
                                          if (who.called) return;
                                          self->count_refusal(who.addresses, error.what);
                                        });
                                      },
                                  .on_drained = nullptr});
  visitor.deadline = std::make_unique<boost::asio::steady_timer>(executor, limits_.handshake_max);
  visitor.deadline->async_wait([weak, id](error_code error) {
    const auto self = weak.lock();
    if (error || !self) return;
    self->with(id, [&](const Visitor& who) {
      who.channel->close();
      self->count_refusal(who.addresses, "it did not say who it is in time");
    });
  });
  visitors_.emplace(id, std::move(visitor));
}

template <class Then>
void Door::with(Id id, Then then) {
  const auto found = visitors_.find(id);
  if (found == visitors_.end()) return;  // gone for another reason
  Visitor visitor = std::move(found->second);
  visitors_.erase(found);
  visitor.deadline->cancel();
  if (std::exchange(full_, false)) await_visitor();
  then(std::move(visitor));
}

void Door::on_message(Visitor visitor, Message message) {
  if (!visitor.tls->peer_has_certificate()) {
    if (const auto* enrol = std::get_if<Enrol>(&message)) return on_enrol(visitor, *enrol);
    return refuse(visitor,
                  {Errc::kPermission, 0, "cannot listen to an agent without a certificate"});
  }
  if (auto* hello = std::get_if<Hello>(&message)) {
    return on_hello(std::move(visitor), std::move(*hello));
  }
  if (const auto* order = std::get_if<StopRun>(&message)) return on_stop(visitor, *order);
  // It came here while we called it.
  if (std::holds_alternative<Bye>(message)) return visitor.channel->close();
  refuse(visitor, {Errc::kProtocol, 0, "cannot begin with anything but Hello"});
}

void Door::on_stop(const Visitor& visitor, const StopRun& order) {
  const auto uri = visitor.tls->peer_uri();
  const auto name = uri ? parse_uri(*uri) : std::nullopt;
  if (!name || !name->supervisor || name->run_id != admission_.run_id() || !handlers_.on_stop) {
    return refuse(visitor, {Errc::kPermission, 0, "cannot stop the run for anybody but its owner"});
  }
  visitor.channel->send(Bye{});
  visitor.channel->close();
  handlers_.on_stop(order);
}

void Door::on_enrol(const Visitor& visitor, const Enrol& enrol) {
  const auto enrolled = admission_.enrol(enrol, [this, &visitor](const Enrol& proven) {
    return handlers_.on_enrol(proven, visitor.addresses);
  });
  if (stopped_) return visitor.channel->close();
  if (!enrolled) return refuse(visitor, enrolled.error());
  ++counters_.enrolled;
  visitor.channel->send(*enrolled);
  visitor.channel->close();
}

void Door::on_hello(Visitor visitor, Hello hello) {
  const auto uri = visitor.tls->peer_uri();
  const auto name = uri ? parse_uri(*uri) : std::nullopt;
  if (!name || name->supervisor || name->run_id != admission_.run_id()) {
    return refuse(visitor, {Errc::kPermission, 0, "cannot admit the holder of this certificate"});
  }
  if (auto same = check_protocol(hello.protocol, "agent"); !same) {
    return refuse(visitor, same.error());
  }
  ++counters_.admitted;
  handlers_.on_agent(*name, visitor.addresses, std::move(hello), std::move(visitor.channel));
}

void Door::refuse(const Visitor& visitor, const base::Error& error) {
  const bool final = error.code != Errc::kUnavailable && error.code != Errc::kTimeout;
  visitor.channel->send(
      Refused{.text = error.what.substr(0, kRefusalTextBytesMax), .final = final});
  visitor.channel->close();
  count_refusal(visitor.addresses, error.what);
}

void Door::count_refusal(const ConnectionAddresses& addresses, const std::string& why) {
  ++counters_.refused;
  counters_.last_refusal = "refused a connection from " + addresses.remote + ": " +
                           base::printable(why.substr(0, kRefusalTextBytesMax));
  if (!handlers_.on_refused) return;
  const int left = lines_.take();
  if (left == 0) return;
  handlers_.on_refused(counters_.last_refusal +
                       (left == 1 ? "; more in this minute are counted only" : ""));
}

class TlsListener final : public Listener {
 public:
  TlsListener(std::shared_ptr<Door> door, std::uint16_t port)
      : door_(std::move(door)), port_(port) {}
  TlsListener(const TlsListener&) = delete;
  TlsListener& operator=(const TlsListener&) = delete;
  ~TlsListener() override { door_->stop(); }

  void call(const std::string& endpoint) override { door_->call(endpoint); }
  [[nodiscard]] std::uint16_t port() const override { return port_; }
  [[nodiscard]] const ListenerCounters& counters() const override { return door_->counters(); }

 private:
  std::shared_ptr<Door> door_;
  std::uint16_t port_;
};

}  // namespace

base::Result<std::unique_ptr<Listener>> Listener::open(
    boost::asio::any_io_executor executor, const std::string& address, std::uint16_t port,
    const Authority& authority, std::string secret, Handlers handlers, ListenerLimits limits) {
  RR_ASSERT(handlers.on_enrol && handlers.on_agent && limits.handshakes_max > 0);
  const Identity identity = RR_TRY(authority.issue_supervisor());
  const CertificatePtr certificate = RR_TRY(certificate_from_pem(identity.certificate));
  TlsContext context = RR_TRY(TlsContext::server(identity));
  base::Fd fd = RR_TRY(listen_tcp(address, port));
  const std::uint16_t bound = local_port(fd.get());
  Admission admission(authority, std::move(secret), handlers.munge, fingerprint_of(*certificate));
  auto door = std::make_shared<Door>(executor, std::move(context), std::move(admission),
                                     std::move(handlers), limits);
  if (auto started = door->start(std::move(fd)); !started) {
    return std::unexpected(std::move(started).error());
  }
  return std::make_unique<TlsListener>(std::move(door), bound);
}

}  // namespace robustrun::wire
