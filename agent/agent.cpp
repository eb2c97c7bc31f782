#include "agent/agent.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "agent/limits.h"
#include "agent/node_context.h"
#include "agent/port.h"
#include "agent/runtime_dir.h"
#include "agent/worker_set.h"
#include "base/core/clock.h"
#include "base/io/blocking_pool.h"
#include "base/io/log.h"
#include "base/io/strays.h"
#include "wire/channel.h"

namespace robustrun::agent {
namespace {

namespace asio = boost::asio;

std::string host_name() {
  char name[256] = "";
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

class Agent {
 public:
  Agent(asio::io_context& loop, base::Fd channel)
      : loop_(loop),
        pool_(loop.get_executor(), kPoolThreads, kPoolQueueMax),
        node_{loop.get_executor(),
              clock_,
              pool_,
              [this](const wire::Message& m) { send(m); },
              {},
              {},
              {}},
        tick_(loop),
        give_up_(loop),
        signals_(loop, SIGTERM, SIGINT) {
    channel_ =
        wire::Channel::open(loop.get_executor(), std::move(channel),
                            {[this](wire::Message m) { on_message(std::move(m)); },
                             [this](const base::Error&) {
                               deaf_ = true;
                               set_congested(false);  // nobody will drain the channel any more
                               leave();
                             },
                             [this] { set_congested(false); }});
    base::redirect_log(
        [this](base::LogLevel level, const base::LogContext& context, std::string_view text) {
          send(wire::Notice{static_cast<std::uint8_t>(level), context.rank, std::string(text)});
        });
    signals_.async_wait([this](const boost::system::error_code& error, int) {
      if (!error) leave();
    });
    send(wire::Hello{wire::kProtocolVersion, host_name(), ::getpid()});
  }

  ~Agent() {
    base::redirect_log({});
    workers_.reset();
  }

 private:
  void send(const wire::Message& message) {
    if (leaving_ || deaf_) return;
    channel_->send(message);
    if (!congested_ && channel_->congested()) set_congested(true);
  }

  void set_congested(bool congested) {
    congested_ = congested;
    if (workers_) workers_->set_congested(congested);
  }

  void on_message(wire::Message message) {
    if (auto* welcome = std::get_if<wire::Welcome>(&message)) {
      on_welcome(std::move(*welcome));
    } else if (!workers_) {
      RR_LOG(kWarn, {}, "an order came before the welcome and was dropped");
    } else if (auto* reserve = std::get_if<wire::ReservePort>(&message)) {
      on_reserve(*reserve);
    } else if (auto* start = std::get_if<wire::StartWorkers>(&message)) {
      workers_->start(std::move(*start));
    } else if (auto* stop = std::get_if<wire::StopWorkers>(&message)) {
      workers_->stop(*stop);
    } else if (auto* signal = std::get_if<wire::SignalWorkers>(&message)) {
      workers_->signal(*signal);
    } else if (std::holds_alternative<wire::Dismiss>(message)) {
      leave();
    }
  }

  void on_welcome(wire::Welcome welcome) {
    if (workers_) return;
    auto runtime = RuntimeDirectory::make(welcome.workers.environment, welcome.workers.run_id);
    if (!runtime) {
      RR_LOG(kError, {}, "{}", runtime.error().what);
      return leave();
    }
    runtime_directory_.emplace(*std::move(runtime));
    node_.runtime_directory = runtime_directory_->path();
    node_.workers = std::move(welcome.workers);
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    node_.shim = (self.parent_path() / "robustrun-shim").string();
    workers_.emplace(node_);
    tick();
  }

  void on_reserve(const wire::ReservePort& order) {
    wire::PortReserved answer{order.attempt, 0, {}};
    if (auto port = reserve_port(rng_)) {
      answer.port = *port;
    } else {
      answer.error = port.error().what;
    }
    send(answer);
  }

  // Ten times a second: progress records; once a second: a sign of life.
  void tick() {
    const base::Nanos due = clock_.now() + kProgressInterval;
    tick_.expires_after(kProgressInterval);
    tick_.async_wait([this, due](const boost::system::error_code& error) {
      if (error || leaving_) return;
      workers_->report_progress();
      if (++ticks_ % kTicksPerHeartbeat == 0) {
        send(wire::Heartbeat{ticks_ / kTicksPerHeartbeat, clock_.now() - due});
      }
      tick();
    });
  }

  // Dismissed, told to end, or alone: nothing of ours stays behind.
  void leave() {
    if (leaving_) return;
    if (workers_) {
      give_up_.expires_after(kLeaveMax);
      give_up_.async_wait([this](const boost::system::error_code& error) {
        if (!error) loop_.stop();
      });
      workers_->kill_all([this] { say_bye(); });
    } else {
      say_bye();
    }
  }

  void say_bye() {
    send(wire::Bye{});
    leaving_ = true;
    tick_.cancel();
    signals_.cancel();
    channel_->close();
    const std::weak_ptr<wire::Channel> closing = std::exchange(channel_, nullptr);
    wait_for_farewell(closing, clock_.now() + kFarewellMax);
  }

  // The closed channel lives until its last bytes are written. A file write that hangs (a dead
  // mount) must not keep us: the loop is stopped, whatever the pool still does.
  void wait_for_farewell(const std::weak_ptr<wire::Channel>& closing, base::Nanos until) {
    if (closing.expired() || clock_.now() >= until) return loop_.stop();
    give_up_.expires_after(kFarewellPoll);
    give_up_.async_wait([this, closing, until](const boost::system::error_code& error) {
      if (!error) wait_for_farewell(closing, until);
    });
  }

  asio::io_context& loop_;
  base::SystemClock clock_;
  base::Rng rng_{base::system_seed()};
  base::BlockingPool pool_;
  NodeContext node_;
  std::shared_ptr<wire::Channel> channel_;
  std::optional<RuntimeDirectory> runtime_directory_;
  std::optional<WorkerSet> workers_;
  asio::steady_timer tick_;
  asio::steady_timer give_up_;
  asio::signal_set signals_;
  std::uint64_t ticks_ = 0;
  bool congested_ = false;
  bool deaf_ = false;     // the supervisor is gone
  bool leaving_ = false;  // the channel is closed
};

}  // namespace

int run_agent(base::Fd channel) {
  // The supervisor's death also shows as the end of the channel; this is the second way to it.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error of write(), too
  base::become_subreaper();
  asio::io_context loop(1);
  Agent agent(loop, std::move(channel));
  loop.run();
  return 0;
}

}  // namespace robustrun::agent
