#include "launcher/local_launcher.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/core/exit_status.h"
#include "base/io/child.h"
#include "base/io/strays.h"
#include "launcher/limits.h"
#include "launcher/own_environment.h"

namespace robustrun::launcher {
namespace {

class LocalLauncher final : public AgentLauncher {
 public:
  LocalLauncher(boost::asio::any_io_executor executor, std::string executable)
      : executor_(executor), executable_(std::move(executable)), sweep_timer_(executor) {}

  void launch(LaunchOrder, Handlers handlers) override {
    if (process_ != nullptr || sweeping_) {
      // The next agent must not meet workers of the last one: it starts once they are gone.
      next_ = std::move(handlers);
      handlers_ = {};  // the old agent's end is not reported any more
      // kNotFound: it is ending by itself, and on_process_exit follows.
      if (process_ != nullptr) static_cast<void>(process_->signal(SIGKILL));
      return;
    }
    start(std::move(handlers));
  }

  // The node is this machine.
  void probe(base::NodeId, std::function<void(bool)> done) override {
    boost::asio::post(executor_, [done = std::move(done)] { done(true); });
  }

  void kill_all() override {
    next_.reset();
    // kNotFound: it is ending by itself.
    if (process_ != nullptr) static_cast<void>(process_->signal(SIGKILL));
  }

  [[nodiscard]] bool idle() const override { return process_ == nullptr && !sweeping_; }

 private:
  void start(Handlers handlers) {
    handlers_ = std::move(handlers);
    if (auto channel = spawn()) {
      auto on_channel = handlers_.on_channel;
      if (on_channel) on_channel(*std::move(channel));
    } else {
      lost(channel.error().what);
    }
  }

  base::Result<base::Fd> spawn() {
    base::FdPair pair = RR_TRY(base::make_socket_pair(SOCK_STREAM));
    base::ChildOptions options;
    options.executable = executable_;
    options.argv = {"robustrun", "agent"};
    options.environment = own_environment();
    // Workers may inherit stdin, stdout and stderr (torchrun's default routing), so the agent
    // holds them too; its own log goes over the channel.
    options.descriptors = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, pair.second.get()};
    process_ = RR_TRY(base::Child::spawn(
        executor_, options, [this](base::ExitStatus status) { on_process_exit(status); }));
    return std::move(pair.first);
  }

  void on_process_exit(base::ExitStatus status) {
    const std::string why =
        "the agent (pid " + std::to_string(process_->pid()) + ") ended: " + base::describe(status);
    process_.reset();
    sweeping_ = true;
    sweep(why);
  }

  // A killed agent's children have been reparented to this process, the subreaper. They are killed
  // before the loss is reported, so that a new agent never meets workers of the old one.
  void sweep(const std::string& why) {
    if (base::kill_strays({}) == base::StraySweep::kAgain) {
      sweep_timer_.expires_after(kStraySweepInterval);
      sweep_timer_.async_wait([this, why](const boost::system::error_code& error) {
        if (!error) sweep(why);
      });
      return;
    }
    sweeping_ = false;
    lost(why);
  }

  void lost(const std::string& why) {
    auto on_lost = std::exchange(handlers_, {}).on_lost;
    if (on_lost) on_lost({.why = why});
    if (auto next = std::exchange(next_, std::nullopt)) start(*std::move(next));
  }

  boost::asio::any_io_executor executor_;
  std::string executable_;
  std::unique_ptr<base::Child> process_;
  Handlers handlers_;
  std::optional<Handlers> next_;
  boost::asio::steady_timer sweep_timer_;
  bool sweeping_ = false;
};

}  // namespace

std::unique_ptr<AgentLauncher> make_local_launcher(boost::asio::any_io_executor executor,
                                                   std::string executable) {
  base::become_subreaper();
  return std::make_unique<LocalLauncher>(std::move(executor), std::move(executable));
}

}  // namespace robustrun::launcher
