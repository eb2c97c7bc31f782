#include "agent/home_link.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "agent/limits.h"
#include "base/core/result.h"
#include "base/io/log.h"

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
  void begin_attempt(base::Attempt) override {}
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
    std::is_same_v<T, wire::PortReserved>;

class NetworkLink final : public HomeLink {
 public:
  NetworkLink(const asio::any_io_executor& executor, const base::Clock& clock,
              std::unique_ptr<wire::Dialer> dialer, Caller caller, Handlers handlers)
      : clock_(clock),
        dialer_(std::move(dialer)),
        hello_(std::move(caller.hello)),
        interface_(std::move(caller.interface)),
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
          if constexpr (kIsReport<std::decay_t<decltype(report)>>) {
            if (report.attempt == hello_.attempt) reports_.emplace_back(report);
          }
        },
        message);
    if (channel_) channel_->send(message);
  }
  [[nodiscard]] bool congested() const override { return channel_ && channel_->congested(); }
  void set_limits(const Limits& limits) override {
    limits_ = limits;
    welcomed_ = true;
  }
  void begin_attempt(base::Attempt attempt) override {
    if (hello_.attempt == attempt) return;
    hello_.attempt = attempt;
    reports_.clear();
  }
  void note_progress() override { progress_at_ = clock_.now(); }
  std::weak_ptr<wire::Channel> close() override {
    closed_ = true;
    retry_.cancel();
    watch_.cancel();
    if (channel_) channel_->close();
    return std::exchange(channel_, nullptr);
  }

 private:
  void dial() {
    dialer_->connect([this](base::Result<wire::Dialer::Connected> connected) {
      if (closed_) return;
      if (connected) return on_connected(*std::move(connected));
      if (connected.error().code == base::Errc::kPermission ||
          connected.error().code == base::Errc::kProtocol) {
        return alone(connected.error().what);
      }
      last_error_ = connected.error().what;
      if (is_over()) return;
      wait_ = std::min(kRedialMax, wait_ * 2);
      retry_.expires_after(wait_);
      retry_.async_wait([this](const boost::system::error_code& error) {
        if (!error) dial();
      });
    });
  }

  void on_connected(wire::Dialer::Connected connected) {
    wait_ = kRedialFirst;
    channel_ = std::move(connected.channel);
    heard_at_ = clock_.now();
    channel_->set_handlers({[this](wire::Message message) { on_message(std::move(message)); },
                            [this](const base::Error& error) { on_broken(error.what); },
                            [this] { handlers_.on_drained(); }});
    hello_.address = address_of(connected.addresses.local);
    hello_.at = clock_.now();
    channel_->send(hello_);
    for (const wire::Message& report : reports_) channel_->send(report);
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
  Handlers handlers_;
  Limits limits_;
  asio::steady_timer retry_, watch_;
  std::shared_ptr<wire::Channel> channel_;
  std::vector<wire::Message> reports_;   // of hello_.attempt: at most a few per worker
  base::Nanos lost_at_, progress_at_, heard_at_{};
  std::chrono::milliseconds wait_ = kRedialFirst;
  std::string last_error_ = "nobody answered";
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
