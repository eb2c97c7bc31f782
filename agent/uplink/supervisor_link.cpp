#include "agent/uplink/supervisor_link.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "agent/node/limits.h"
#include "base/core/result.h"
#include "wire/link/acceptor.h"

namespace robustrun::agent {
namespace {

namespace asio = boost::asio;

constexpr std::chrono::seconds kFirstContactSoon{10};

class SocketLink final : public SupervisorLink {
 public:
  SocketLink(const asio::any_io_executor& executor, base::Fd socket, Handlers handlers)
      : handlers_(std::move(handlers)) {
    channel_ = wire::Channel::open(
        executor, std::move(socket),
        {[this](wire::Message message) { handlers_.on_message(std::move(message)); },
         [this](const base::Error& error) {
           channel_.reset();
           handlers_.on_drained();  // the channel will not drain any more
           handlers_.on_given_up(error);
         },
         [this] { handlers_.on_drained(); }});
  }

  void send(const wire::Message& message) override {
    if (channel_) channel_->send(message);
  }
  [[nodiscard]] bool congested() const override { return channel_ && channel_->congested(); }
  void set_limits(const Limits&) override {}
  void begin_attempt(base::Attempt, std::uint32_t) override {}
  void note_progress() override {}
  std::weak_ptr<wire::Channel> close() override {
    if (channel_) channel_->close();
    return std::exchange(channel_, nullptr);
  }

 private:
  Handlers handlers_;
  std::shared_ptr<wire::Channel> channel_;
};

template <class T>
constexpr bool kIsReport =
    std::is_same_v<T, wire::WorkerStarted> || std::is_same_v<T, wire::WorkerStartFailed> ||
    std::is_same_v<T, wire::WorkerExited> || std::is_same_v<T, wire::WorkersGone> ||
    std::is_same_v<T, wire::PortReserved> || std::is_same_v<T, wire::HeldCopiesSaved>;

// The attempt of the workers that a report is about.
base::Attempt attempt_of(const auto& report) { return report.attempt; }
base::Attempt attempt_of(const wire::HeldCopiesSaved& report) { return report.made_in; }

class NetworkLink final : public SupervisorLink {
 public:
  NetworkLink(const asio::any_io_executor& executor, const base::Clock& clock,
              std::unique_ptr<wire::Dialer> dialer, Network network, Handlers handlers)
      : clock_(clock),
        dialer_(std::move(dialer)),
        hello_(std::move(network.hello)),
        interface_(std::move(network.interface)),
        look_up_(std::move(network.look_up)),
        on_late_(std::move(network.on_late)),
        open_bulk_(std::move(network.open_bulk)),
        handlers_(std::move(handlers)),
        retry_(executor),
        watch_(executor),
        lost_at_(clock.now()),
        progress_at_(clock.now()) {
    limits_.orphan_grace = network.first_contact_max;
    dial();
    watch();
  }

  void send(const wire::Message& message) override {
    std::visit(
        [this](const auto& report) {
          using Report = std::decay_t<decltype(report)>;
          if constexpr (kIsReport<Report>) {
            if (attempt_of(report) == hello_.attempt) reports_.emplace_back(report);
          }
          if constexpr (std::is_same_v<Report, wire::SavingOver>) {
            if (saved_.size() == kSavingOverKeptMax) saved_.erase(saved_.begin());
            saved_.push_back(report);
          }
        },
        message);
    if (channel_) return channel_->send(message);
    const bool is_kept = std::holds_alternative<wire::NodeHealth>(message) ||
                         std::holds_alternative<wire::CheckpointNote>(message) ||
                         std::holds_alternative<wire::CheckpointMoved>(message) ||
                         std::holds_alternative<wire::NodeStages>(message);
    if (is_kept && undelivered_.size() < kUndeliveredMax) {
      undelivered_.push_back(message);
    }
  }
  [[nodiscard]] bool congested() const override { return channel_ && channel_->congested(); }
  void set_limits(const Limits& limits) override {
    limits_ = limits;
    welcomed_ = true;
  }
  void begin_attempt(base::Attempt attempt, std::uint32_t ordered_by) override {
    hello_.attempt = attempt;
    hello_.ordered_by = ordered_by;
    reports_.clear();
  }
  void note_progress() override { progress_at_ = clock_.now(); }
  std::weak_ptr<wire::Channel> close() override {
    closed_ = true;
    acceptor_.reset();
    if (challenger_) challenger_->close();
    retry_.cancel();
    watch_.cancel();
    if (channel_) channel_->close();
    return std::exchange(channel_, nullptr);
  }

 private:
  void dial() {
    if (std::exchange(dialing_, true)) return;  // one began before a supervisor called
    dialer_->connect([this](base::Result<wire::Dialer::Connected> connected) {
      dialing_ = false;
      if (closed_) return;
      if (connected && channel_ && connected->supervisor == supervisor_) {
        return close_duplicate(*connected->channel);
      }
      if (connected) return on_connected(*std::move(connected));
      if (connected.error().code == base::Errc::kPermission ||
          connected.error().code == base::Errc::kProtocol) {
        return give_up(connected.error());
      }
      last_error_ = connected.error().what;
      if (channel_ || is_over()) return;
      if (!welcomed_) warn_of_wait();
      wait_ = std::min(kRedialMax, wait_ * 2);
      retry_.expires_after(wait_);
      retry_.async_wait([this](const boost::system::error_code& error) {
        if (error || channel_) return;
        if (welcomed_ || !look_up_) return dial();
        look_up_([this](std::vector<std::string> found) {
          if (closed_ || channel_ || has_given_up_ || dialing_) return;
          if (!found.empty()) dialer_->set_endpoints(std::move(found));
          dial();
        });
      });
    });
  }

  // Once.
  void warn_of_wait() {
    if (!on_late_ || clock_.now() - lost_at_ < kFirstContactSoon) return;
    std::exchange(on_late_, nullptr)(last_error_);
  }

  void on_connected(wire::Dialer::Connected connected) {
    wait_ = kRedialFirst;
    retry_.cancel();
    hello_.address = address_of(connected.addresses.local);
    hello_.addresses = addresses_of_workers({connected.addresses.local, hello_.address});
    listen();
    if (const auto& self = dialer_->identity(); self && open_bulk_) {
      hello_.bulk = open_bulk_(connected.run_id, *self, hello_.address);
    }
    supervisor_ = std::move(connected.supervisor);
    take(std::move(connected.channel));
    send_hello(*channel_);
    for (const wire::Message& message : std::exchange(undelivered_, {})) channel_->send(message);
  }

  void take(std::shared_ptr<wire::Channel> channel) {
    if (channel_) channel_->close();
    channel_ = std::move(channel);
    received_at_ = clock_.now();
    channel_->set_handlers({[this](wire::Message message) { on_message(std::move(message)); },
                            [this](const base::Error& error) { on_broken(error.what); },
                            [this] { handlers_.on_drained(); }});
    handlers_.on_drained();  // a connection that it replaces will not drain any more
  }

  void send_hello(wire::Channel& channel) {
    hello_.at = clock_.now();
    channel.send(hello_);
    for (const wire::Message& report : reports_) channel.send(report);
    for (const wire::SavingOver& over : saved_) channel.send(over);
  }

  // A supervisor connects to this agent. If it is not the one we are connected to, it must prove
  // that it is newer, because that one may still live.
  void on_incoming(base::Fd connection) {
    dialer_->answer(std::move(connection), [this](base::Result<wire::Dialer::Connected> caller) {
      if (closed_ || has_given_up_ || !caller) return;
      if (!channel_) return on_connected(*std::move(caller));
      if (caller->supervisor == supervisor_) return close_duplicate(*caller->channel);
      if (challenger_) challenger_->close();
      challenger_ = std::move(caller->channel);
      challenger_->set_handlers({[this, supervisor = caller->supervisor](wire::Message message) {
                                   on_challenger(supervisor, std::move(message));
                                 },
                                 [this](const base::Error&) { challenger_.reset(); }, nullptr});
      send_hello(*challenger_);
    });
  }

  void on_challenger(const std::string& supervisor, wire::Message message) {
    const auto* welcome = std::get_if<wire::Welcome>(&message);
    const auto challenger = std::exchange(challenger_, nullptr);
    if (welcome == nullptr || welcome->incarnation <= incarnation_) return refuse(*challenger);
    incarnation_ = welcome->incarnation;
    if (channel_) refuse(*std::exchange(channel_, nullptr));
    supervisor_ = supervisor;
    take(challenger);
    on_message(std::move(message));
  }

  // We called it, and it called us: one connection is enough.
  static void close_duplicate(wire::Channel& channel) {
    channel.send(wire::Bye{});
    channel.close();
  }

  // A newer supervisor has taken over.
  void refuse(wire::Channel& channel) const {
    channel.send(wire::Refused{
        "supervisor " + std::to_string(incarnation_) + " has taken the run over", true});
    channel.close();
  }

  // Without a port no supervisor on another machine can take the run over; everything else works.
  void listen() {
    if (!acceptor_) {
      auto opened = wire::Acceptor::open(retry_.get_executor(), [this](base::Fd connection) {
        on_incoming(std::move(connection));
      });
      if (opened) acceptor_ = *std::move(opened);
    }
    if (acceptor_) hello_.listens = wire::endpoint_text(hello_.address, acceptor_->port());
  }

  // False: the supervisor has been superseded.
  bool is_obeyed(const wire::Welcome& welcome) {
    if (welcome.incarnation < incarnation_) {
      refuse(*channel_);
      on_broken("a superseded supervisor connected");
      return false;
    }
    incarnation_ = welcome.incarnation;
    if (!welcome.endpoints.empty()) dialer_->set_endpoints(welcome.endpoints);
    return true;
  }

  [[nodiscard]] std::string address_of(const std::string& carrying) const {
    if (interface_.empty()) return carrying;
    const auto own = wire::local_addresses(interface_);
    return own && !own->empty() ? own->front() : carrying;
  }

  // `known` and those of all interfaces that lead to other machines; empty: not all are known.
  static std::vector<std::string> addresses_of_workers(std::vector<std::string> known) {
    const auto own = wire::local_addresses();
    if (!own) return {};
    known.insert(known.end(), own->begin(), own->end());
    std::set<std::string> addresses;
    for (const std::string& each : known) {
      if (!each.starts_with("127.") && each != "::1") addresses.emplace(wire::without_zone(each));
    }
    if (addresses.size() > wire::kNodeAddressesMax) return {};
    return {addresses.begin(), addresses.end()};
  }

  void on_message(wire::Message message) {
    received_at_ = clock_.now();
    if (const auto* refused = std::get_if<wire::Refused>(&message)) {
      if (refused->final) {
        return give_up({base::Errc::kPermission, 0, "the supervisor refused us: " + refused->text});
      }
      return;
    }
    if (std::holds_alternative<wire::Heartbeat>(message)) return;
    const auto* welcome = std::get_if<wire::Welcome>(&message);
    if (welcome != nullptr && !is_obeyed(*welcome)) return;
    handlers_.on_message(std::move(message));
  }

  void on_broken(const std::string& why) {
    channel_.reset();
    lost_at_ = clock_.now();
    last_error_ = why;
    handlers_.on_drained();  // until then, output goes to the files only
    if (!is_over()) dial();
  }

  // Checks whether the supervisor is silent, and how long it has been away.
  void watch() {
    watch_.expires_after(kSupervisorWatchInterval);
    watch_.async_wait([this](const boost::system::error_code& error) {
      if (error || closed_) return;
      const bool silent = channel_ && limits_.silence_max > base::Nanos{} &&
                          clock_.now() - received_at_ > limits_.silence_max;
      if (silent) {
        channel_->close();
        on_broken("the supervisor has been silent for too long");
      } else if (!channel_) {
        static_cast<void>(is_over());
      }
      if (!closed_) watch();
    });
  }

  // True when the wait is over; on_given_up was called then.
  bool is_over() {
    const base::Nanos now = clock_.now();
    if (now - lost_at_ >= limits_.orphan_grace) {
      give_up({base::Errc::kUnavailable, 0, "the supervisor cannot be reached: " + last_error_});
      return true;
    }
    if (welcomed_ && now - std::max(lost_at_, progress_at_) >= kIdleWithoutSupervisorMax) {
      give_up(
          {base::Errc::kUnavailable, 0,
           "the supervisor cannot be reached, and the workers make no progress: " + last_error_});
      return true;
    }
    return false;
  }

  void give_up(const base::Error& why) {
    if (std::exchange(has_given_up_, true)) return;
    retry_.cancel();
    handlers_.on_given_up(why);
  }

  const base::Clock& clock_;
  std::unique_ptr<wire::Dialer> dialer_;
  wire::Hello hello_;
  std::string interface_;
  std::function<void(Network::Found)> look_up_;
  std::function<void(const std::string&)> on_late_;
  std::function<std::string(const std::string&, const wire::Identity&, const std::string&)>
      open_bulk_;
  Handlers handlers_;
  Limits limits_;
  asio::steady_timer retry_, watch_;
  std::unique_ptr<wire::Acceptor> acceptor_;
  std::shared_ptr<wire::Channel> channel_;
  std::string supervisor_;  // of channel_: the name in its certificate
  std::shared_ptr<wire::Channel> challenger_;  // of a supervisor that has not welcomed us yet
  std::uint32_t incarnation_ = 0;  // the highest that has welcomed us
  std::vector<wire::Message> reports_;  // of hello_.attempt: at most a few per worker
  std::vector<wire::SavingOver> saved_;  // the newest ones, of any attempt
  // Findings about this machine from while there was no connection.
  std::vector<wire::Message> undelivered_;
  base::Nanos lost_at_, progress_at_, received_at_{};
  std::chrono::milliseconds wait_ = kRedialFirst;
  std::string last_error_ = "no answer";
  bool dialing_ = false;
  bool welcomed_ = false;
  bool has_given_up_ = false;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<SupervisorLink> SupervisorLink::over_socket(asio::any_io_executor executor,
                                                            base::Fd socket, Handlers handlers) {
  return std::make_unique<SocketLink>(executor, std::move(socket), std::move(handlers));
}

std::unique_ptr<SupervisorLink> SupervisorLink::over_network(asio::any_io_executor executor,
                                                             const base::Clock& clock,
                                                             std::unique_ptr<wire::Dialer> dialer,
                                                             Network network, Handlers handlers) {
  return std::make_unique<NetworkLink>(executor, clock, std::move(dialer), std::move(network),
                                       std::move(handlers));
}

}  // namespace robustrun::agent
