#include "agent/preflight/replay.h"

#include <fcntl.h>
#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "agent/node/limits.h"
#include "agent/process/processes.h"
#include "agent/spawn/usable_cpus.h"
#include "agent/spawn/worker_command.h"
#include "base/core/words.h"
#include "base/io/fd.h"

namespace robustrun::agent {

namespace asio = boost::asio;
using Outcome = wire::NodeReplayed::Outcome;
using wire::LaunchMode;

base::Result<wire::WorkerTemplate> replay_template(const wire::WorkerTemplate& workers,
                                                   const wire::ReplayNode& order,
                                                   bool own_command) {
  wire::WorkerTemplate made = workers;
  const auto cannot = [](const char* why) {
    return base::fail(base::Errc::kInvalidArgument, fmt::format("cannot replay: {}", why));
  };
  made.arguments.clear();
  if (order.command.empty()) {
    if (made.interpreter.empty() || made.python_path.empty()) {
      return cannot("the alignment test needs Python, and the workers use none that is known");
    }
    made.mode = LaunchMode::kModule;
    made.program = "robustrun.align";
    // The test ends by itself before it is killed, and then names the ranks that did not come.
    const auto seconds = std::chrono::floor<std::chrono::seconds>(order.limit * 9 / 10).count();
    made.arguments = {"--limit", std::to_string(std::max<std::int64_t>(1, seconds))};
    return made;
  }
  if (own_command) return cannot("this agent starts nothing but its own command");
  auto rest = order.command.begin() + 1;
  made.program = order.command.front();
  made.mode = made.program.ends_with(".py") ? LaunchMode::kScript : LaunchMode::kExecutable;
  if (made.program == "-m" && rest != order.command.end()) {
    made.mode = LaunchMode::kModule;
    made.program = *rest++;
  }
  if (made.mode != LaunchMode::kExecutable && made.interpreter.empty()) {
    return cannot("it needs Python, and the workers use none that is known");
  }
  made.arguments.assign(rest, order.command.end());
  return made;
}

class Replay::Run : public std::enable_shared_from_this<Run> {
 public:
  Run(NodeContext& node, wire::ReplayNode order)
      : node_(node), order_(std::move(order)), timer_(node.executor) {
    report_.replay = order_.replay;
    report_.outcome = Outcome::kPassed;
  }

  [[nodiscard]] std::uint64_t number() const { return order_.replay; }

  void begin() {
    processes_.resize(order_.slots.size());
    left_ = processes_.size();
    end_within(order_.limit);
    auto made = replay_template(node_.workers, order_, node_.own_command);
    if (made) made->agent_store = node_.started_with.agent_store;
    if (!made || left_ == 0) {
      fail(Outcome::kNotRun, made ? "it has no ranks here" : made.error().what);
      return finish();
    }
    const unsigned cpus = usable_cpus();
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      const auto started = spawn(i, *made, cpus);
      if (started) continue;
      fail(Outcome::kNotRun, started.error().what);
      return finish();
    }
  }

  // Answers a repeated order again, in case the answer was lost.
  void answer_again() const {
    if (is_over_) node_.send(report_);
  }

  void drop() {
    is_over_ = true;
    timer_.cancel();
    processes_.clear();  // closes their lifelines: the shims kill their trees
  }

 private:
  base::Status spawn(std::size_t place, const wire::WorkerTemplate& made, unsigned cpus) {
    const wire::WorkerSlot& slot = order_.slots[place];
    wire::StartWorkers start;
    start.slots = order_.slots;
    start.group_rank = order_.group_rank;
    start.group_world_size = order_.group_world_size;
    start.world_size = order_.world_size;
    start.master_addr = order_.master_addr;
    start.master_port = order_.master_port;
    const WorkerCommand command =
        RR_TRY(make_worker_command(made, start, slot, WorkerFiles{}, cpus));
    const base::Fd log = open_log(slot.local_rank);
    ShimOptions options;
    options.shim = node_.shim;
    options.argv = node_.home.prefix;
    options.argv.insert(options.argv.end(), command.argv.begin(), command.argv.end());
    options.container = node_.home.container;
    options.environment = command.environment;
    options.working_directory = made.working_directory;
    options.out_fd = options.err_fd = log.get();
    ShimLink::Handlers handlers;
    const std::string rank_name = fmt::format("rank {}", slot.rank.value);
    handlers.on_started = [](pid_t) {};
    handlers.on_start_failed = [this, rank_name](int, const std::string& what) {
      fail(Outcome::kNotRun, fmt::format("{}: {}", rank_name, what));
    };
    handlers.on_exited = [this, rank_name](base::ExitStatus status, base::Nanos, bool) {
      if (status.success() || is_killing_) return;
      if (report_.codes.size() < kReplayCodesMax) report_.codes.push_back(status.torchrun_code());
      fail(Outcome::kFailed, fmt::format("{}: {}", rank_name, base::describe(status)));
    };
    handlers.on_gone = [this](unsigned, const std::string&) { on_gone(); };
    processes_[place] = RR_TRY(start_process(node_, options, std::move(handlers)));
    return {};
  }

  // Without a log file the program's output is lost, which is no reason not to replay.
  [[nodiscard]] base::Fd open_log(base::LocalRank rank) const {
    if (node_.workers.log_directory.empty()) return {};
    const std::string folder =
        fmt::format("{}/replay_{}", node_.workers.log_directory, order_.replay);
    if (!base::make_directories(folder, kReplayFolderMode)) return {};
    const std::string path = fmt::format("{}/{}.log", folder, rank.value);
    return base::Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                           kReplayLogMode));
  }

  // The first failure is reported. The others may only be waiting for the rank that failed.
  void fail(Outcome outcome, std::string why) {
    if (report_.outcome != Outcome::kPassed) return;
    report_.outcome = outcome;
    report_.why = std::move(why);
    if (!is_over_) end_within(std::min<base::Nanos>(order_.limit, kReplayOthersMax));
  }

  void end_within(base::Nanos limit) {
    timer_.expires_after(limit);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error && !self->is_over_) self->on_late();
    });
  }

  void on_late() {
    if (std::exchange(is_killing_, true)) return finish();  // they survived even SIGKILL
    fail(Outcome::kFailed, "it did not end within " + base::in_seconds(order_.limit));
    end_within(kReplayKillMax);
    for (const auto& process : processes_) {
      if (process) process->kill_tree();
    }
  }

  void on_gone() {
    if (--left_ > 0) return;
    // Not from within a link's own handler: finish() destroys the link.
    asio::post(node_.executor, [self = shared_from_this()] { self->finish(); });
  }

  void finish() {
    if (is_over_) return;
    drop();
    node_.send(report_);
  }

  NodeContext& node_;
  wire::ReplayNode order_;
  asio::steady_timer timer_;
  std::vector<std::unique_ptr<ShimLink>> processes_;  // by slot
  std::size_t left_ = 0;  // processes that are not gone
  wire::NodeReplayed report_;
  bool is_killing_ = false;
  bool is_over_ = false;
};

Replay::Replay(NodeContext& node) : node_(node) {}

Replay::~Replay() { end(); }

void Replay::start(const wire::ReplayNode& order) {
  if (run_ && run_->number() == order.replay) return run_->answer_again();
  end();
  run_ = std::make_shared<Run>(node_, order);
  run_->begin();
}

void Replay::end() {
  if (run_) std::exchange(run_, nullptr)->drop();
}

}  // namespace robustrun::agent
