#include "wire/link/listener.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "wire/link/admission.h"
#include "wire/link/stream_channel.h"
#include "wire/net/bounded_listener.h"
#include "wire/net/peer_user.h"
#include "wire/net/tcp.h"
#include "wire/net/tcp_dial.h"
#include "wire/tls/context.h"
#include "wire/tls/stream.h"

namespace robustrun::wire {
namespace {

using base::Errc;
using boost::system::error_code;

// Limits the number of lines per minute.
class LineLimit {
 public:
  // 0: print nothing; else how many lines are left in this minute, this one included.
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

// A connection whose peer has not been identified.
struct PendingConnection {
  BoundedListener::Slot slot;
  std::shared_ptr<Channel> channel;
  const TlsStream* tls = nullptr;   // of the channel
  ConnectionAddresses addresses;
  bool is_agents = false;  // comes from a known address
  base::Nanos since{};
  bool called = false;   // opened by us; the agent may no longer need it
  std::unique_ptr<boost::asio::steady_timer> deadline;
};

// Kept alive by the listener's pending operations; the Listener itself is only its owner.
class ServerState : public std::enable_shared_from_this<ServerState> {
 public:
  ServerState(const boost::asio::any_io_executor& executor, TlsContext context, Admission admission,
              Listener::Handlers handlers, ListenerLimits limits)
      : executor_(executor),
        context_(std::move(context)),
        admission_(std::move(admission)),
        handlers_(std::move(handlers)),
        limits_(limits) {}

  base::Status start(const std::string& address, std::uint16_t port);
  void call(const std::string& endpoint);
  void expect(const std::string& address) {
    if (known_addresses_.size() < kKnownAddressesMax) known_addresses_.insert(address);
  }
  void stop();
  [[nodiscard]] std::uint16_t port() const { return listener_->port(); }
  [[nodiscard]] const ListenerCounters& counters() const { return counters_; }

 private:
  using Id = std::uint64_t;

  void on_shortage(int os_errno);
  std::optional<base::Nanos> make_room();
  // Whether agents were admitted or are expected from that address; on this machine another user's
  // process may have the same one.
  [[nodiscard]] bool is_agents(const std::string& address, int connection) const {
    return known_addresses_.contains(address) && !other_user_at(connection);
  }
  void begin(base::Fd fd, BoundedListener::Slot slot, bool called);
  // Takes the connection out of the pending ones, gives its slot back, then calls `then` with it.
  template <class Then>
  void with(Id id, Then then);
  void on_message(PendingConnection peer, Message message);
  void on_stop(const PendingConnection& peer, const StopRun& order);
  void on_enrol(const PendingConnection& peer, const Enrol& enrol);
  void on_hello(PendingConnection peer, Hello hello);
  void refuse(const PendingConnection& peer, const base::Error& error);
  void count_refusal(const ConnectionAddresses& addresses, const std::string& why);

  boost::asio::any_io_executor executor_;
  TlsContext context_;
  Admission admission_;
  Listener::Handlers handlers_;
  ListenerLimits limits_;
  ListenerCounters counters_;
  LineLimit lines_;
  std::set<std::string> known_addresses_;  // from which agents were admitted or are expected
  std::map<Id, PendingConnection> pending_;
  std::map<Id, std::shared_ptr<TcpDial>> calls_;
  Id next_id_ = 0;
  std::unique_ptr<BoundedListener> listener_;
  bool is_short_ = false;  // descriptors or memory ran out, and this was logged
  bool stopped_ = false;
};

base::Status ServerState::start(const std::string& address, std::uint16_t port) {
  const std::weak_ptr<ServerState> weak = weak_from_this();
  listener_ = RR_TRY(BoundedListener::open(
      executor_, address, port, limits_.handshakes_max,
      {.on_connection =
           [weak](base::Fd fd, BoundedListener::Slot slot) {
             const auto self = weak.lock();
             if (!self) return;
             self->is_short_ = false;
             self->begin(std::move(fd), std::move(slot), false);
           },
       .on_crowded = [weak]() -> std::optional<base::Nanos> {
         const auto self = weak.lock();
         return self ? self->make_room() : std::nullopt;
       },
       .is_known =
           [weak](int connection) {
             const auto self = weak.lock();
             return self && self->is_agents(addresses_of(connection).remote, connection);
           },
       .on_shortage =
           [weak](int os_errno) {
             if (const auto self = weak.lock()) self->on_shortage(os_errno);
           }}));
  return {};
}

void ServerState::call(const std::string& endpoint) {
  const Id id = next_id_++;
  calls_.emplace(id, TcpDial::start(executor_, endpoint, kConnectMax,
                                    [weak = weak_from_this(), id](base::Result<base::Fd> reached) {
                                      const auto self = weak.lock();
                                      if (!self || self->stopped_) return;
                                      self->calls_.erase(id);
                                      if (!reached) return;
                                      self->begin(*std::move(reached), self->listener_->take_slot(),
                                                  true);
                                    }));
}

void ServerState::stop() {
  stopped_ = true;
  for (const auto& [id, call] : std::exchange(calls_, {})) call->cancel();
  listener_.reset();
  for (auto& [id, one] : std::exchange(pending_, {})) one.channel->close();
}

void ServerState::on_shortage(int os_errno) {
  if (!std::exchange(is_short_, true) && handlers_.on_refused) {
    handlers_.on_refused("cannot accept connections: " + std::string(::strerror(os_errno)) +
                         "; they wait until there is room");
  }
}

// Among the silent connections that have been pending long enough, closes the oldest of those that
// got least far; one from an agent's address only if none comes from elsewhere. If there are none
// yet, returns the time until there will be one.
std::optional<base::Nanos> ServerState::make_room() {
  const base::Nanos now = base::SystemClock().now();
  base::Nanos wait = limits_.handshake_max;
  const auto is_known = [](const auto& each) { return each.second.is_agents; };
  const bool are_all_known = std::ranges::all_of(pending_, is_known);
  for (const bool after_hello : {false, true}) {
    const base::Nanos patience =
        after_hello ? limits_.silent_after_hello_max : limits_.silent_before_hello_max;
    for (const auto& each : pending_) {
      const auto& [id, one] = each;
      if (one.tls->heard_hello() != after_hello || (!are_all_known && is_known(each))) continue;
      const base::Nanos left = one.since + patience - now;
      if (left <= base::Nanos{} && one.tls->is_silent()) {
        with(id, [this](const PendingConnection& silent) {
          silent.channel->close();
          count_refusal(silent.addresses, "it was silent while others waited");
        });
        return std::nullopt;
      }
      wait = std::min(wait, left > base::Nanos{} ? left : base::Nanos(kAcceptRetry));
    }
  }
  return wait;
}

void ServerState::begin(base::Fd fd, BoundedListener::Slot slot, bool called) {
  ++counters_.accepted;
  PendingConnection pending;
  pending.slot = std::move(slot);
  pending.addresses = addresses_of(fd.get());
  pending.is_agents = is_agents(pending.addresses.remote, fd.get());
  auto tls = TlsStream::make(context_, fd.get(), TlsStream::Side::kServer);
  if (!tls) return count_refusal(pending.addresses, tls.error().what);
  pending.tls = tls->get();
  pending.since = base::SystemClock().now();
  pending.called = called;
  const Id id = next_id_++;
  const std::weak_ptr<ServerState> weak = weak_from_this();
  pending.channel = open_channel(executor_, {std::move(fd), *std::move(tls)}, Begin::kOneMessage,
                                 {.on_message =
                                      [weak, id](Message message) {
                                        const auto self = weak.lock();
                                        if (!self) return;
                                        self->with(id, [&](PendingConnection peer) {
                                          self->on_message(std::move(peer), std::move(message));
                                        });
                                      },
                                  .on_closed =
                                      [weak, id](const base::Error& error) {
                                        const auto self = weak.lock();
                                        if (!self) return;
                                        self->with(id, [&](const PendingConnection& peer) {
                                          if (peer.called) return;
                                          self->count_refusal(peer.addresses, error.what);
                                        });
                                      },
                                  .on_drained = nullptr});
  pending.deadline = std::make_unique<boost::asio::steady_timer>(executor_, limits_.handshake_max);
  pending.deadline->async_wait([weak, id](error_code error) {
    const auto self = weak.lock();
    if (error || !self) return;
    self->with(id, [&](const PendingConnection& peer) {
      peer.channel->close();
      self->count_refusal(peer.addresses, "it did not identify itself in time");
    });
  });
  pending_.emplace(id, std::move(pending));
}

template <class Then>
void ServerState::with(Id id, Then then) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;  // removed for another reason
  PendingConnection peer = std::move(found->second);
  pending_.erase(found);
  peer.deadline->cancel();
  peer.slot = nullptr;
  then(std::move(peer));
}

void ServerState::on_message(PendingConnection peer, Message message) {
  if (!peer.tls->peer_has_certificate()) {
    if (const auto* enrol = std::get_if<Enrol>(&message)) return on_enrol(peer, *enrol);
    return refuse(peer, {Errc::kPermission, 0, "cannot accept this message without a certificate"});
  }
  if (auto* hello = std::get_if<Hello>(&message)) {
    return on_hello(std::move(peer), std::move(*hello));
  }
  if (const auto* order = std::get_if<StopRun>(&message)) return on_stop(peer, *order);
  // The agent reached us by itself while we were calling it.
  if (std::holds_alternative<Bye>(message)) return peer.channel->close();
  refuse(peer, {Errc::kProtocol, 0, "cannot begin with anything but Hello"});
}

void ServerState::on_stop(const PendingConnection& peer, const StopRun& order) {
  const auto uri = peer.tls->peer_uri();
  const auto name = uri ? parse_uri(*uri) : std::nullopt;
  if (!name || !name->supervisor || name->run_id != admission_.run_id() || !handlers_.on_stop) {
    return refuse(peer, {Errc::kPermission, 0, "cannot stop the run: only its owner may do that"});
  }
  peer.channel->send(Bye{});
  peer.channel->close();
  handlers_.on_stop(order);
}

void ServerState::on_enrol(const PendingConnection& peer, const Enrol& enrol) {
  const auto enrolled = admission_.enrol(enrol, [this, &peer](const Enrol& proven) {
    return handlers_.on_enrol(proven, peer.addresses);
  });
  if (stopped_) return peer.channel->close();
  if (!enrolled) return refuse(peer, enrolled.error());
  ++counters_.enrolled;
  peer.channel->send(*enrolled);
  peer.channel->close();
}

void ServerState::on_hello(PendingConnection peer, Hello hello) {
  const auto uri = peer.tls->peer_uri();
  const auto name = uri ? parse_uri(*uri) : std::nullopt;
  if (!name || name->supervisor || name->run_id != admission_.run_id()) {
    return refuse(peer, {Errc::kPermission, 0, "cannot admit the holder of this certificate"});
  }
  if (auto same = check_protocol(hello.protocol, "agent"); !same) {
    return refuse(peer, same.error());
  }
  ++counters_.admitted;
  expect(peer.addresses.remote);
  handlers_.on_agent(*name, peer.addresses, std::move(hello), std::move(peer.channel));
}

void ServerState::refuse(const PendingConnection& peer, const base::Error& error) {
  const bool final = error.code != Errc::kUnavailable && error.code != Errc::kTimeout;
  peer.channel->send(Refused{.text = error.what.substr(0, kRefusalTextBytesMax), .final = final});
  peer.channel->close();
  count_refusal(peer.addresses, error.what);
}

void ServerState::count_refusal(const ConnectionAddresses& addresses, const std::string& why) {
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
  TlsListener(std::shared_ptr<ServerState> server) : server_(std::move(server)) {}
  TlsListener(const TlsListener&) = delete;
  TlsListener& operator=(const TlsListener&) = delete;
  ~TlsListener() override { server_->stop(); }

  void call(const std::string& endpoint) override { server_->call(endpoint); }
  void expect(const std::string& address) override { server_->expect(address); }
  [[nodiscard]] std::uint16_t port() const override { return server_->port(); }
  [[nodiscard]] const ListenerCounters& counters() const override { return server_->counters(); }

 private:
  std::shared_ptr<ServerState> server_;
};

}  // namespace

base::Result<std::unique_ptr<Listener>> Listener::open(
    boost::asio::any_io_executor executor, const std::string& address, std::uint16_t port,
    const Authority& authority, std::string secret, Handlers handlers, ListenerLimits limits) {
  RR_ASSERT(handlers.on_enrol && handlers.on_agent && limits.handshakes_max > 0);
  const Identity identity = RR_TRY(authority.issue_supervisor());
  const CertificatePtr certificate = RR_TRY(certificate_from_pem(identity.certificate));
  TlsContext context = RR_TRY(TlsContext::server(identity));
  Admission admission(authority, std::move(secret), handlers.munge, fingerprint_of(*certificate));
  auto server = std::make_shared<ServerState>(executor, std::move(context), std::move(admission),
                                              std::move(handlers), limits);
  RR_TRY(server->start(address, port));
  return std::make_unique<TlsListener>(std::move(server));
}

}  // namespace robustrun::wire
