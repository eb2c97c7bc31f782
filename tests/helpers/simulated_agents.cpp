// Many agents with simulated workers in one process, for figures of the supervisor alone. Each
// joins a run over TLS as a machine of its own, follows its orders, and reports a step of every
// worker with each heartbeat.
//
//   simulated_agents HOST:PORT RUN SECRET_FILE COMMAND_DIGEST AGENTS WORKERS_EACH [LAGGARD]
//
// The first worker of agent LAGGARD, from 1, stops after three steps.
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "wire/link/dialer.h"
#include "wire/messages/messages.h"

namespace robustrun::wire {
namespace {

namespace asio = boost::asio;

class SimulatedAgent {
 public:
  SimulatedAgent(asio::io_context& loop, const Credential& credential, const Enrol& self,
                 std::size_t& alive, bool is_laggard)
      : slots_(self.slots), is_laggard_(is_laggard), timer_(loop), alive_(alive) {
    hello_.host = self.host;
    hello_.pid = ::getpid();
    hello_.slots = slots_;
    dialer_ = Dialer::make(loop.get_executor(), credential, self);
    dial();
  }

 private:
  void dial() {
    dialer_->connect([this](base::Result<Dialer::Connected> connected) {
      if (connected) return on_connected(*std::move(connected));
      if (connected.error().code == base::Errc::kPermission) {
        std::fprintf(stderr, "%s\n", connected.error().what.c_str());
        std::exit(1);
      }
      timer_.expires_after(std::chrono::milliseconds(100));
      timer_.async_wait([this](const boost::system::error_code& error) {
        if (!error) dial();
      });
    });
  }

  void on_connected(Dialer::Connected connected) {
    channel_ = std::move(connected.channel);
    channel_->set_handlers({[this](const Message& message) { on_message(message); },
                            [this](const base::Error&) { end(); }, [] {}});
    hello_.address = connected.addresses.local;
    hello_.at = clock_.now();
    channel_->send(hello_);
  }

  void on_message(const Message& message) {
    if (const auto* welcome = std::get_if<Welcome>(&message)) {
      interval_ = welcome->heartbeat_interval;
      base::Rng rng(base::system_seed());
      beat(base::Nanos(rng.below(interval_.count())));
    } else if (const auto* port = std::get_if<ReservePort>(&message)) {
      channel_->send(PortReserved{port->attempt, 29999, {}});
    } else if (const auto* start = std::get_if<StartWorkers>(&message)) {
      attempt_ = start->attempt;
      running_ = true;
      for (std::uint32_t rank = 0; rank < slots_; ++rank) {
        channel_->send(WorkerStarted{attempt_, {rank}, ::getpid(), clock_.now()});
      }
    } else if (const auto* stop = std::get_if<StopWorkers>(&message)) {
      running_ = false;
      WorkersGone gone;
      gone.attempt = stop->attempt;
      channel_->send(gone);
    } else if (std::holds_alternative<Dismiss>(message)) {
      channel_->send(Bye{});
      channel_->close();
      end();
    }
  }

  void beat(base::Nanos after) {
    timer_.expires_after(after);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error || ended_) return;
      const base::Nanos now = clock_.now();
      channel_->send(Heartbeat{++beats_, now});
      for (std::uint32_t rank = 0; running_ && rank < slots_; ++rank) {
        WorkerProgress progress;
        progress.attempt = attempt_;
        progress.local_rank = {rank};
        progress.steps = is_laggard_ && rank == 0 ? std::min(beats_, kLaggardSteps) : beats_;
        progress.user_code_at = progress.first_step_at = progress.last_step_at = now;
        channel_->send(progress);
      }
      beat(interval_);
    });
  }

  void end() {
    if (std::exchange(ended_, true)) return;
    timer_.cancel();
    --alive_;
  }

  static constexpr std::uint64_t kLaggardSteps = 3;
  std::uint32_t slots_;
  bool is_laggard_;
  asio::steady_timer timer_;
  std::size_t& alive_;
  base::SystemClock clock_;
  Hello hello_;
  std::unique_ptr<Dialer> dialer_;
  std::shared_ptr<Channel> channel_;
  base::Nanos interval_{};
  base::Attempt attempt_;
  std::uint64_t beats_ = 0;
  bool running_ = false;
  bool ended_ = false;
};

int simulate(int argc, char** argv) {
  Credential credential;
  credential.endpoints = {argv[1]};
  credential.run_id = argv[2];
  std::ifstream secret(argv[3], std::ios::binary);
  credential.token = std::string(std::istreambuf_iterator<char>(secret), {});
  Enrol self;
  self.command_digest = argv[4];
  std::size_t alive = std::stoul(argv[5]);
  self.slots = static_cast<std::uint32_t>(std::stoul(argv[6]));
  const std::size_t laggard = argc > 7 ? std::stoul(argv[7]) : 0;
  asio::io_context loop(1);
  std::vector<std::unique_ptr<SimulatedAgent>> agents;
  for (std::size_t number = alive; number > 0; --number) {
    self.host = "sim-" + std::to_string(number);
    agents.push_back(
        std::make_unique<SimulatedAgent>(loop, credential, self, alive, number == laggard));
  }
  while (alive > 0) loop.run_one();
  return 0;
}

}  // namespace
}  // namespace robustrun::wire

int main(int argc, char** argv) {
  if (argc == 7 || argc == 8) return robustrun::wire::simulate(argc, argv);
  std::fprintf(stderr,
               "simulated_agents HOST:PORT RUN SECRET_FILE DIGEST AGENTS WORKERS_EACH [LAGGARD]\n");
  return 2;
}
