#include "agent/uplink/home_link.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "agent/node/limits.h"
#include "base/core/result.h"
#include "base/io/log.h"
#include "wire/link/acceptor.h"

namespace robustrun::agent {
namespace {

namespace asio = boost::asio;

class SocketLink final : public HomeLink {
 public:
  SocketLink(const asio::any_io_executor& executor, base::Fd socket, Handlers handlers)
      : handlers_(std::move(handlers)) {
    channel_ = wire::Channel::open(
        executor, std::move(socket),
        {[this](wire::Message message) { handlers_.on_message(std::move(message)); },
         [this](const base::Error& error) {
           channel_.reset();
           handlers_.on_drained();  // nobody will drain the channel any more
           handlers_.on_alone(error.what);
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

// In which attempt the workers were that a report is about.
base::Attempt attempt_of(const auto& report) { return report.attempt; }
base::Attempt attempt_of(const wire::HeldCopiesSaved& report) { return report.made_in; }

class NetworkLink final : public HomeLink {
 public:
  NetworkLink(const asio::any_io_executor& executor, const base::Clock& clock,
              std::unique_ptr<wire::Dialer> dialer, Caller caller, Handlers handlers)
      : clock_(clock),
        dialer_(std::move(dialer)),
        hello_(std::move(caller.hello)),
        interface_(std::move(caller.interface)),
        open_bulk_(std::move(caller.open_bulk)),
        handlers_(std::move(handlers)),
        retry_(executor),
        watch_(executor),
        lost_at_(clock.now()),
        progress_at_(clock.now()) {
    limits_.orphan_grace = caller.first_contact_max;
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
            if (saved_.size() == kSavedToldMax) saved_.erase(saved_.begin());
            saved_.push_back(report);
          }
        },
        message);
    if (channel_) return channel_->send(message);
    const bool is_kept = std::holds_alternative<wire::NodeHealth>(message) ||
                         std::holds_alternative<wire::CheckpointNote>(message) ||
                         std::holds_alternative<wire::NodeStages>(message);
    if (is_kept && unheard_.size() < kUnheardMax) {
      unheard_.push_back(message);
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
    if (rival_) rival_->close();
    retry_.cancel();
    watch_.cancel();
    if (channel_) channel_->close();
    return std::exchange(channel_, nullptr);
  }

 private:
  void dial() {
    if (std::exchange(dialing_, true)) return;  // one began before somebody called us
    dialer_->connect([this](base::Result<wire::Dialer::Connected> connected) {
      dialing_ = false;
      if (closed_) return;
      if (connected && channel_ && connected->supervisor == supervisor_) {
        return part(*connected->channel);
      }
      if (connected) return on_connected(*std::move(connected));
      if (connected.error().code == base::Errc::kPermission ||
          connected.error().code == base::Errc::kProtocol) {
        return alone(connected.error().what);
      }
      last_error_ = connected.error().what;
      if (channel_ || is_over()) return;
      wait_ = std::min(kRedialMax, wait_ * 2);
      retry_.expires_after(wait_);
      retry_.async_wait([this](const boost::system::error_code& error) {
        if (!error && !channel_) dial();
      });
    });
  }

  void on_connected(wire::Dialer::Connected connected) {
    wait_ = kRedialFirst;
    retry_.cancel();
    hello_.address = address_of(connected.addresses.local);
    listen();
    if (const auto& self = dialer_->identity(); self && open_bulk_) {
      hello_.bulk = open_bulk_(connected.run_id, *self, hello_.address);
    }
    supervisor_ = std::move(connected.supervisor);
    take(std::move(connected.channel));
    say_hello(*channel_);
    for (const wire::Message& message : std::exchange(unheard_, {})) channel_->send(message);
  }

  void take(std::shared_ptr<wire::Channel> channel) {
    if (channel_) channel_->close();
    channel_ = std::move(channel);
    heard_at_ = clock_.now();
    channel_->set_handlers({[this](wire::Message message) { on_message(std::move(message)); },
                            [this](const base::Error& error) { on_broken(error.what); },
                            [this] { handlers_.on_drained(); }});
  }

  void say_hello(wire::Channel& channel) {
    hello_.at = clock_.now();
    channel.send(hello_);
    for (const wire::Message& report : reports_) channel.send(report);
    for (const wire::SavingOver& over : saved_) channel.send(over);
  }

  // Somebody connects to us. A supervisor that is not the one we are connected to has to show that
  // it came after that one, which may still live.
  void on_caller(base::Fd connection) {
    dialer_->answer(std::move(connection), [this](base::Result<wire::Dialer::Connected> caller) {
      if (closed_ || is_alone_ || !caller) return;
      if (!channel_) return on_connected(*std::move(caller));
      if (caller->supervisor == supervisor_) return part(*caller->channel);
      if (rival_) rival_->close();
      rival_ = std::move(caller->channel);
      rival_->set_handlers({[this, who = caller->supervisor](wire::Message message) {
                              on_rival(who, std::move(message));
                            },
                            [this](const base::Error&) { rival_.reset(); }, nullptr});
      say_hello(*rival_);
    });
  }

  void on_rival(const std::string& who, wire::Message message) {
    const auto* welcome = std::get_if<wire::Welcome>(&message);
    const auto rival = std::exchange(rival_, nullptr);
    if (welcome == nullptr || welcome->incarnation <= incarnation_) return refuse(*rival);
    incarnation_ = welcome->incarnation;
    if (channel_) refuse(*std::exchange(channel_, nullptr));
    supervisor_ = who;
    take(rival);
    on_message(std::move(message));
  }

  // We called it, and it called us: one connection is enough.
  static void part(wire::Channel& channel) {
    channel.send(wire::Bye{});
    channel.close();
  }

  // Whoever it is, another one came later.
  void refuse(wire::Channel& channel) const {
    channel.send(wire::Refused{
        "supervisor " + std::to_string(incarnation_) + " has taken the run over", true});
    channel.close();
  }

  // Without a port nobody on another machine can take the run over, and all else works.
  void listen() {
    if (!acceptor_) {
      auto opened = wire::Acceptor::open(
          retry_.get_executor(), [this](base::Fd connection) { on_caller(std::move(connection)); });
      if (opened) acceptor_ = *std::move(opened);
    }
    if (acceptor_) hello_.listens = wire::endpoint_text(hello_.address, acceptor_->port());
  }

  // False: from a supervisor that another one has followed.
  bool is_obeyed(const wire::Welcome& welcome) {
    if (welcome.incarnation < incarnation_) {
      refuse(*channel_);
      on_broken("a supervisor of the past called");
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

  void on_message(wire::Message message) {
    heard_at_ = clock_.now();
    if (const auto* refused = std::get_if<wire::Refused>(&message)) {
      if (refused->final) return alone("the supervisor refused us: " + refused->text);
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
    handlers_.on_drained();  // what is written meanwhile goes to the files alone
    if (!is_over()) dial();
  }

  // The supervisor is away: for how long that may be, and whether it is at all.
  void watch() {
    watch_.expires_after(kHomeWatchInterval);
    watch_.async_wait([this](const boost::system::error_code& error) {
      if (error || closed_) return;
      const bool silent = channel_ && limits_.silence_max > base::Nanos{} &&
                          clock_.now() - heard_at_ > limits_.silence_max;
      if (silent) {
        channel_->close();
        on_broken("the supervisor has been silent for too long");
      } else if (!channel_) {
        static_cast<void>(is_over());
      }
      if (!closed_) watch();
    });
  }

  // True when we have waited long enough; on_alone was called then.
  bool is_over() {
    const base::Nanos now = clock_.now();
    if (now - lost_at_ >= limits_.orphan_grace) {
      alone("the supervisor cannot be reached: " + last_error_);
      return true;
    }
    if (welcomed_ && now - std::max(lost_at_, progress_at_) >= kIdleWithoutHomeMax) {
      alone("the supervisor cannot be reached, and the workers make no progress: " + last_error_);
      return true;
    }
    return false;
  }

  void alone(const std::string& why) {
    if (std::exchange(is_alone_, true)) return;
    retry_.cancel();
    handlers_.on_alone(why);
  }

  const base::Clock& clock_;
  std::unique_ptr<wire::Dialer> dialer_;
  wire::Hello hello_;
  std::string interface_;
  std::function<std::string(const std::string&, const wire::Identity&, const std::string&)>
      open_bulk_;
  Handlers handlers_;
  Limits limits_;
  asio::steady_timer retry_, watch_;
  std::unique_ptr<wire::Acceptor> acceptor_;
  std::shared_ptr<wire::Channel> channel_;
  std::string supervisor_;  // of channel_: its certificate
  std::shared_ptr<wire::Channel> rival_;  // of one that has not welcomed us yet
  std::uint32_t incarnation_ = 0;  // the highest of a supervisor that welcomed us
  std::vector<wire::Message> reports_;  // of hello_.attempt: at most a few per worker
  std::vector<wire::SavingOver> saved_;  // the newest, whatever attempt they are of
  std::vector<wire::Message> unheard_;  // about this machine, said while nobody was there
  base::Nanos lost_at_, progress_at_, heard_at_{};
  std::chrono::milliseconds wait_ = kRedialFirst;
  std::string last_error_ = "nobody answered";
  bool dialing_ = false;
  bool welcomed_ = false;
  bool is_alone_ = false;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<HomeLink> HomeLink::over_socket(asio::any_io_executor executor, base::Fd socket,
                                                Handlers handlers) {
  return std::make_unique<SocketLink>(executor, std::move(socket), std::move(handlers));
}

std::unique_ptr<HomeLink> HomeLink::over_network(asio::any_io_executor executor,
                                                 const base::Clock& clock,
                                                 std::unique_ptr<wire::Dialer> dialer,
                                                 Caller caller, Handlers handlers) {
  return std::make_unique<NetworkLink>(executor, clock, std::move(dialer), std::move(caller),
                                       std::move(handlers));
}

}  // namespace robustrun::agent
