#include "launcher/process_launcher.h"

#include <signal.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/core/exit_status.h"
#include "base/io/child.h"
#include "base/io/fd.h"
#include "base/io/strays.h"
#include "launcher/limits.h"
#include "launcher/own_environment.h"

namespace robustrun::launcher {
namespace {

class ProcessLauncher final : public AgentLauncher {
 public:
  ProcessLauncher(boost::asio::any_io_executor executor, std::string executable)
      : executor_(executor),
        executable_(std::move(executable)),
        environment_(own_environment()),
        sweep_timer_(executor) {}

  void launch(LaunchOrder order, Handlers handlers) override {
    Agent& agent = agents_[order.node];
    if (agent.process || agent.leaving) {
      // The next agent must not meet workers of the last one: it starts once they are gone.
      agent.next.emplace(std::move(order), std::move(handlers));
      agent.handlers = {};  // the old agent's end is not reported any more
      // kNotFound: it is ending by itself, and on_exit follows.
      if (agent.process) static_cast<void>(agent.process->signal(SIGKILL));
      return;
    }
    start(std::move(order), std::move(handlers));
  }

  // The node is this machine.
  void probe(base::NodeId, std::function<void(bool)> done) override {
    boost::asio::post(executor_, [done = std::move(done)] { done(true); });
  }

  void kill_all() override {
    for (auto& [node, agent] : agents_) {
      agent.next.reset();
      if (agent.process) static_cast<void>(agent.process->signal(SIGKILL));
    }
  }

  [[nodiscard]] bool idle() const override {
    for (const auto& [node, agent] : agents_) {
      if (agent.process || agent.leaving) return false;
    }
    return true;
  }

 private:
  struct Agent {
    std::unique_ptr<base::Child> process;
    base::Fd input;      // held open: its end makes an agent that has not joined exit
    Handlers handlers;
    std::optional<std::string> leaving;   // why it ended; what it left behind is being killed
    std::optional<std::pair<LaunchOrder, Handlers>> next;
  };

  void start(LaunchOrder order, Handlers handlers) {
    const base::NodeId node = order.node;
    Agent& agent = agents_[node];
    agent.handlers = std::move(handlers);
    if (auto spawned = spawn(agent, node, order.credential); !spawned) {
      lost(node, spawned.error().what);
    }
  }

  base::Status spawn(Agent& agent, base::NodeId node, const std::string& credential) {
    base::FdPair pipe = RR_TRY(base::make_pipe());
    // Shorter than a pipe's capacity, so it cannot block.
    RR_TRY(base::write_all(pipe.second.get(), credential));
    base::ChildOptions options;
    options.executable = executable_;
    options.argv = {"robustrun", "agent", "--stdin-credential"};
    options.environment = environment_;
    options.descriptors = {pipe.first.get(), STDOUT_FILENO, STDERR_FILENO};
    agent.process = RR_TRY(base::Child::spawn(
        executor_, options, [this, node](base::ExitStatus status) { on_exit(node, status); }));
    agent.input = std::move(pipe.second);
    return {};
  }

  void on_exit(base::NodeId node, base::ExitStatus status) {
    Agent& agent = agents_[node];
    agent.leaving = "the agent (pid " + std::to_string(agent.process->pid()) +
                    ") ended: " + base::describe(status);
    agent.process.reset();
    agent.input.reset();
    sweep();
  }

  // A killed agent's children have been reparented to this process, the subreaper. Living agents
  // are told apart by their pids.
  void sweep() {
    if (std::exchange(sweeping_, true)) return;
    std::vector<pid_t> living;
    for (const auto& [node, agent] : agents_) {
      if (agent.process) living.push_back(agent.process->pid());
    }
    const bool again = base::kill_strays(living) == base::StraySweep::kAgain;
    sweeping_ = false;
    if (again) {
      sweep_timer_.expires_after(kStraySweepInterval);
      sweep_timer_.async_wait([this](const boost::system::error_code& error) {
        if (!error) sweep();
      });
      return;
    }
    std::vector<base::NodeId> ended;
    for (const auto& [node, agent] : agents_) {
      if (agent.leaving) ended.push_back(node);
    }
    // One after the other: an agent that is launched meanwhile for one of them has to wait.
    for (const base::NodeId node : ended) {
      lost(node, *std::exchange(agents_[node].leaving, std::nullopt));
    }
  }

  void lost(base::NodeId node, const std::string& why) {
    Agent& agent = agents_[node];
    auto on_lost = std::exchange(agent.handlers, {}).on_lost;
    auto next = std::exchange(agent.next, std::nullopt);
    if (on_lost) on_lost({why, true});
    if (next) start(std::move(next->first), std::move(next->second));
  }

  boost::asio::any_io_executor executor_;
  std::string executable_;
  std::vector<std::string> environment_;
  std::map<base::NodeId, Agent> agents_;
  boost::asio::steady_timer sweep_timer_;
  bool sweeping_ = false;
};

}  // namespace

std::unique_ptr<AgentLauncher> make_process_launcher(boost::asio::any_io_executor executor,
                                                     std::string executable) {
  base::become_subreaper();
  return std::make_unique<ProcessLauncher>(std::move(executor), std::move(executable));
}

}  // namespace robustrun::launcher
