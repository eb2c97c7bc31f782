#include "agent/node_agent.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "agent/copies/memory_tier.h"
#include "agent/copies/peer_copies.h"
#include "agent/departure.h"
#include "agent/faults/inject.h"
#include "agent/health/watch.h"
#include "agent/node/environment.h"
#include "agent/node/limits.h"
#include "agent/node/node_context.h"
#include "agent/node/runtime_dir.h"
#include "agent/preflight/node_tests.h"
#include "agent/staging/block_peers.h"
#include "agent/staging/stage_files.h"
#include "agent/store/attempt_store.h"
#include "agent/uplink/disturbed_link.h"
#include "agent/worker/checkpoint_demotion.h"
#include "agent/worker/worker_set.h"
#include "base/io/blocking_pool.h"
#include "base/io/child_self.h"
#include "base/io/descriptor_limit.h"
#include "base/io/log.h"
#include "wire/messages/limits.h"

namespace robustrun::agent {

namespace asio = boost::asio;

class NodeAgent::Impl {
 public:
  Impl(asio::io_context& loop, Settings settings, const MakeLink& make_link)
      : loop_(loop),
        settings_(std::move(settings)),
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
        departure_(node_, settings_.over_network, {},
                   {[this] { return welcomed(); }, [this] { return ::getppid() != parent_; },
                    [this](const wire::Message& m) { send(m); },
                    [this](int signal, base::Nanos grace) { workers_->stop_all(signal, grace); },
                    [this](std::function<void()> then) { workers_->when_gone(std::move(then)); },
                    [this] { leave(); }}),
        signals_(loop, SIGTERM, SIGINT),
        forwarded_(loop) {
    // Threads of the pool log, too.
    base::redirect_log(
        [this, executor = loop.get_executor(), alive = std::weak_ptr(alive_)](
            base::LogLevel level, const base::LogContext& context, std::string_view text) {
          wire::Notice notice{static_cast<std::uint8_t>(level), context.rank, std::string(text)};
          asio::dispatch(executor, [this, alive, notice = std::move(notice)] {
            if (!alive.expired()) send(notice);
          });
        });
    node_.host = host();
    node_.processes = settings_.processes;
    node_.has_input = !settings_.over_network || settings_.own_workers;
    node_.leave_store = [this] { store_.leave_to_worker(); };
    await_signal();
    blocks_.use_listener_of(*peers_);
    SupervisorLink::Handlers handlers{[this](wire::Message m) { on_message(std::move(m)); },
                                      [this] { on_drained(); },
                                      [this](const base::Error& why) {
                                        why_ = why.what;
                                        is_cut_off_ = why.code == base::Errc::kUnavailable;
                                        leave();
                                      }};
    link_ = std::make_unique<DisturbedLink>(
        loop.get_executor(), clock_, std::move(handlers), [&](SupervisorLink::Handlers inner) {
          return make_link({clock_, began_, node_.host, *peers_, pool_}, std::move(inner));
        });
    use_settings();
  }

  ~Impl() {
    base::redirect_log({});
    alive_.reset();
    tests_.reset();
    injector_.reset();
    peers_.reset();
    copies_.reset();  // rescues under way report to workers_
    workers_.reset();
    stage_.reset();
  }

  [[nodiscard]] bool welcomed() const { return workers_.has_value(); }
  [[nodiscard]] End end() const { return {exit_code_, departure_.left_by(), why_, is_cut_off_}; }

  void leave() {
    if (leaving_) return;
    tests_.reset();
    if (workers_) {
      give_up_.expires_after(kLeaveMax);
      give_up_.async_wait([this](const boost::system::error_code& error) {
        if (!error) loop_.stop();
      });
      // The supervisor dismisses an agent right after it has ordered it to save a lost node's
      // copies.
      workers_->kill_all([this] { copies_->after_saving([this] { flush_and_close(); }); });
    } else {
      asio::post(loop_, [this] { flush_and_close(); });  // link_ may still be under construction
    }
  }

 private:
  [[nodiscard]] static std::string host() {
    char name[256] = "";
    return ::gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
  }

  void use_settings() {
    if (settings_.ends_with_node) departure_.end_with_node();
    departure_.set_grace(settings_.grace);
    boost::system::error_code error;  // nothing can be done about it
    for (const int signal : settings_.end_signals) signals_.add(signal, error);
    // The kernel refuses SIGKILL and SIGSTOP.
    for (const int signal : settings_.forwarded_signals) forwarded_.add(signal, error);
    if (!settings_.forwarded_signals.empty()) await_forwarded();
    if (settings_.open_console) {
      console_ = settings_.open_console(loop_.get_executor(), [this] { on_drained(); });
    }
  }

  void await_signal() {
    signals_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (error) return;
      departure_.signalled(signal);
      await_signal();
    });
  }

  void await_forwarded() {
    forwarded_.async_wait([this](const boost::system::error_code& error, int signal) {
      if (error) return;
      if (workers_ && !came_already(signal, false)) workers_->signal_all(signal);
      await_forwarded();
    });
  }

  // A second one would make scripts save twice, which the ranks of other nodes do not. `relayed`:
  // by the leader, and not sent to this command.
  bool came_already(int signal, bool relayed) {
    const auto& forwarded = settings_.forwarded_signals;
    if (std::ranges::find(forwarded, signal) == forwarded.end()) return false;
    Passed& passed = passed_[signal];
    const base::Nanos now = clock_.now();
    if (now - std::exchange(passed.at, now) >= kRelayedSignalMax) passed.ahead = 0;
    const bool came = relayed ? passed.ahead > 0 : passed.ahead < 0;
    passed.ahead += relayed ? -1 : 1;
    return came;
  }

  void send(const wire::Message& message) {
    if (leaving_ || !link_) return;
    if (const auto* stop = std::get_if<wire::StopRun>(&message); stop && node_.own_command) {
      // This command is to end, as if it had been signalled itself.
      return base::signal_self(stop->signal == SIGINT ? SIGINT : SIGTERM);
    }
    if (departure_.withholds(message)) return;
    if (departure_.was_stopped() && std::holds_alternative<wire::WorkersGone>(message))
      store_.end_attempt();
    const auto* output = std::get_if<wire::Output>(&message);
    if (output != nullptr && console_) {
      console_->write(*output);
    } else {
      link_->send(message);
    }
    if (!congested_ && is_congested()) set_congested(true);
  }

  [[nodiscard]] bool is_congested() const {
    return link_->congested() || (console_ && console_->congested());
  }

  void on_drained() {
    if (!link_ || !is_congested()) set_congested(false);
  }

  void set_congested(bool congested) {
    congested_ = congested;
    if (workers_) workers_->set_congested(congested);
  }

  void on_message(wire::Message message) {
    if (auto* welcome = std::get_if<wire::Welcome>(&message)) {
      on_welcome(std::move(*welcome));
    } else if (const auto* dismiss = std::get_if<wire::Dismiss>(&message)) {
      exit_code_ = dismiss->exit_code;
      leave();
    } else if (!workers_) {
      RR_LOG(kWarn, {}, "an order came before the welcome and was dropped");
    } else if (auto* reserve = std::get_if<wire::ReservePort>(&message)) {
      on_reserve(*reserve);
    } else if (auto* start = std::get_if<wire::StartWorkers>(&message)) {
      if (workers_->takes(*start)) begin_attempt(*start);
      if (tests_) tests_->end_replay();
      use_own_streams(*start);
      workers_->start(std::move(*start));
      stepped_at_ = clock_.now();
      peers_->begin_attempt();
    } else if (auto* stop = std::get_if<wire::StopWorkers>(&message)) {
      departure_.take(*stop);
      workers_->stop(*stop);
    } else if (std::holds_alternative<wire::StopRun>(message)) {
      departure_.on_answer();
    } else if (auto* signal = std::get_if<wire::SignalWorkers>(&message)) {
      if (!came_already(signal->signal, true)) workers_->signal(*signal);
    } else if (const auto* keep = std::get_if<wire::KeepStandbys>(&message)) {
      workers_->keep_standbys(*keep);
    } else if (const auto* question = std::get_if<wire::Observe>(&message)) {
      workers_->observe(*question);
    } else if (auto* demote = std::get_if<wire::DemoteCheckpoint>(&message)) {
      demotion_->demote(std::move(*demote));
    } else if (peers_->take(message) || blocks_.take(message) || stage_->take(message)) {
      return;
    } else if (auto* fault = std::get_if<wire::Inject>(&message)) {
      injector_->inject(*fault);
    } else if (tests_) {
      const auto* replay = std::get_if<wire::ReplayNode>(&message);
      // The order is repeated after a broken connection.
      if (replay != nullptr && std::exchange(replay_, replay->replay) != replay->replay) {
        begin_store(*replay);
      }
      tests_->take(message);
    }
  }

  void begin_attempt(const wire::StartWorkers& order) {
    departure_.begin_attempt();
    link_->begin_attempt(order.attempt, order.ordered_by);
    begin_store(order, order.store_clients);
  }

  template <class Order>
  void begin_store(const Order& order, std::vector<std::string> clients = {}) {
    const bool has_rank_zero = std::ranges::any_of(
        order.slots, [](const wire::WorkerSlot& slot) { return slot.rank.value == 0; });
    store_.begin_attempt(
        {order.master_port, has_rank_zero, order.group_world_size == 1, std::move(clients)});
  }

  void use_own_streams(wire::StartWorkers& order) const {
    for (wire::WorkerSlot& slot : order.slots) {
      if (slot.local_rank.value >= settings_.own_streams.size()) continue;
      slot.out = settings_.own_streams[slot.local_rank.value].out;
      slot.err = settings_.own_streams[slot.local_rank.value].err;
    }
  }

  void on_welcome(wire::Welcome welcome) {
    base::raise_descriptor_limit();  // where the process that started us has lowered it
    if (workers_) {  // a later welcome, after a new connection
      node_.stages.forget_news();
      workers_->tell_again();
      return departure_.tell_again();
    }
    if (settings_.own_workers) {
      settings_.own_workers->run_id = welcome.workers.run_id;
      settings_.own_workers->health =
          welcome.workers.health;  // an older supervisor knows no findings
      settings_.own_workers->tell_modules = welcome.workers.tell_modules;
      settings_.own_workers->checkpoints = welcome.workers.checkpoints;
      settings_.own_workers->share_blocks = welcome.workers.share_blocks;
      settings_.own_workers->stages = welcome.workers.stages;
      settings_.own_workers->overlap_saves = welcome.workers.overlap_saves;
      settings_.own_workers->tell_moved = welcome.workers.tell_moved;
      // In compat mode the folder's name is this command's own, as with torchrun.
      if (!settings_.own_workers->log_directory.empty() && !settings_.own_workers->compat) {
        settings_.own_workers->log_directory += "/node" + std::to_string(welcome.node.value);
      }
      welcome.workers = *std::move(settings_.own_workers);
      node_.own_command = true;
    }
    overlay_environment(welcome.workers.environment, settings_.node_environment);
    auto runtime = RuntimeDirectory::make(welcome.workers.environment, welcome.workers.run_id);
    if (!runtime) {
      RR_LOG(kError, {}, "{}", runtime.error().what);
      why_ = runtime.error().what;
      return leave();
    }
    runtime_directory_.emplace(*std::move(runtime));
    node_.runtime_directory = runtime_directory_->path();
    if (!welcome.workers.stage.empty()) {
      overlay_environment(welcome.workers.environment,
                          {"ROBUSTRUN_STAGE_DIR=" + stage_directory(node_.runtime_directory)});
    }
    node_.workers = std::move(welcome.workers);
    node_.self = welcome.node;
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    node_.executable = self.string();
    node_.shim = (self.parent_path() / "robustrun-shim").string();
    // Our Python package lies beside this build; on another machine perhaps in a cache.
    const auto python = self.parent_path().parent_path() / "share/robustrun/python";
    if (!node_.workers.python_path.empty() && settings_.over_network) {
      node_.workers.python_path = python.string();
    }
    heartbeat_interval_ = std::max<base::Nanos>(welcome.heartbeat_interval, kProgressInterval);
    link_->set_limits({welcome.orphan_grace, welcome.silence_max});
    node_.started_with = node_.workers;
    stage_.emplace(node_, blocks_);
    workers_.emplace(node_, *copies_, blocks_, *stage_);
    tests_.emplace(node_);
    demotion_.emplace(node_);
    if (node_.workers.health) health_ = HealthWatch::start(node_);
    injector_.emplace(
        node_,
        FaultInjector::Hooks{[this](base::Attempt attempt, base::LocalRank rank) {
                               return workers_->fault_target(attempt, rank);
                             },
                             [this](wire::FaultKind kind, base::Nanos duration, base::Nanos delay) {
                               link_->disturb(kind, duration, delay);
                             }});
    // Agents that are welcomed at once do not beat at once: the supervisor would take thousands of
    // heartbeats in one burst.
    next_heartbeat_ = clock_.now() + base::Nanos(rng_.below(heartbeat_interval_.count()));
    stepped_at_ = clock_.now();
    tick();
  }

  void on_reserve(const wire::ReservePort& order) {
    wire::PortReserved answer{order.attempt, 0, {}};
    if (auto port = store_.reserve(rng_)) {
      answer.port = *port;
    } else {
      answer.error = port.error().what;
    }
    send(answer);
  }

  // Ten times a second the workers' records, less often while no worker makes a step; once per
  // heartbeat interval a heartbeat.
  void tick() {
    const base::Nanos before = clock_.now();
    const bool is_quiet = before - stepped_at_ > kQuietAfter;
    const base::Nanos due =
        std::min<base::Nanos>(before + (is_quiet ? kQuietInterval : kProgressInterval),
                              std::max(next_heartbeat_, before + kProgressInterval));
    tick_.expires_after(due - before);
    tick_.async_wait([this](const boost::system::error_code& error) {
      if (error || leaving_) return;
      const base::Nanos now = clock_.now();
      if (workers_->report_progress()) {
        stepped_at_ = now;
        link_->note_progress();
      }
      if (now >= next_heartbeat_) {
        next_heartbeat_ =
            std::max(next_heartbeat_, now - heartbeat_interval_) + heartbeat_interval_;
        send(wire::Heartbeat{++heartbeats_, now});
      }
      tick();
    });
  }

  void flush_and_close() {
    if (console_) return console_->flush([this] { close_link(); });
    close_link();
  }

  void close_link() {
    if (leaving_) return;  // leave() was called again meanwhile
    send(wire::Bye{});
    leaving_ = true;
    tick_.cancel();
    signals_.cancel();
    departure_.cancel();
    wait_for_last_bytes(link_->close(), clock_.now() + kLastBytesMax);
  }

  // The closed channel lives until its last bytes are written. A file write that hangs (a dead
  // mount) must not delay our end: the loop is stopped, whatever the pool still does.
  void wait_for_last_bytes(const std::weak_ptr<wire::Channel>& closing, base::Nanos until) {
    if (closing.expired() || clock_.now() >= until) return loop_.stop();
    give_up_.expires_after(kLastBytesPoll);
    give_up_.async_wait([this, closing, until](const boost::system::error_code& error) {
      if (!error) wait_for_last_bytes(closing, until);
    });
  }

  struct Passed {
    int ahead = 0;  // how many more came to this command than from the leader
    base::Nanos at{};  // when the last one came
  };

  asio::io_context& loop_;
  Settings settings_;
  base::SystemClock clock_;
  const base::Nanos began_ = clock_.now();
  base::Rng rng_{base::system_seed()};
  base::BlockingPool pool_;
  NodeContext node_;
  std::unique_ptr<MemoryTier> copies_ = MemoryTier::make(node_);
  std::optional<PeerCopies> peers_{std::in_place, node_, *copies_};
  BlockPeers blocks_{node_};
  AttemptStore store_{node_};
  std::unique_ptr<OwnConsole> console_;  // null: output goes to the supervisor
  std::unique_ptr<DisturbedLink> link_;
  std::optional<RuntimeDirectory> runtime_directory_;
  std::optional<StageFiles> stage_;
  std::optional<WorkerSet> workers_;
  std::optional<FaultInjector> injector_;
  std::optional<NodeTests> tests_;
  std::optional<CheckpointDemotion> demotion_;
  std::unique_ptr<HealthWatch> health_;  // null: findings are not wanted
  asio::steady_timer tick_;
  asio::steady_timer give_up_;
  Departure departure_;
  asio::signal_set signals_;
  asio::signal_set forwarded_;
  std::map<int, Passed> passed_;  // by forwarded signal
  std::uint64_t heartbeats_ = 0;  // sent so far
  base::Nanos heartbeat_interval_{};
  base::Nanos next_heartbeat_{};
  base::Nanos stepped_at_{};  // when a worker was last seen to have made a step, or was started
  std::optional<int> exit_code_;
  std::string why_ = "ended by a signal";
  bool is_cut_off_ = false;
  bool congested_ = false;
  std::optional<std::uint64_t> replay_;  // the last one
  const pid_t parent_ = ::getppid();
  bool leaving_ = false;  // the link is closed
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for log lines of other threads
};

NodeAgent::NodeAgent(asio::io_context& loop, Settings settings, const MakeLink& make_link)
    : impl_(std::make_unique<Impl>(loop, std::move(settings), make_link)) {}
NodeAgent::~NodeAgent() = default;
void NodeAgent::leave() { impl_->leave(); }
bool NodeAgent::welcomed() const { return impl_->welcomed(); }
NodeAgent::End NodeAgent::end() const { return impl_->end(); }

}  // namespace robustrun::agent
