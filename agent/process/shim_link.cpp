#include "agent/process/shim_link.h"

#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

#include "agent/process/cgroup.h"
#include "agent/shim/limits.h"
#include "agent/shim/protocol.h"
#include "base/core/text.h"
#include "base/io/child.h"
#include "base/io/descriptor_limit.h"
#include "base/io/strays.h"
#include "base/io/unwatched_child.h"

namespace robustrun::agent {
namespace {

using boost::asio::posix::stream_descriptor;
using boost::system::error_code;

constexpr std::chrono::milliseconds kReapPauseMin{1};
constexpr std::chrono::milliseconds kReapPauseMax{100};
// A shim ends within milliseconds once its link is gone, unless the kernel cannot kill its tree.
constexpr std::chrono::seconds kBuryMax{5};

// The shims of this process that are not reaped yet: they must not be taken for orphans.
std::vector<pid_t>& live_shims() {
  static std::vector<pid_t> pids;
  return pids;
}

base::ChildOptions child_options(const ShimOptions& options, int control) {
  base::ChildOptions child;
  child.executable = options.shim;
  child.argv = {"robustrun-shim"};
  if (!options.cgroup.empty()) child.argv.push_back("--cgroup=" + options.cgroup);
  if (!options.cpus.empty()) child.argv.push_back("--cpus=" + options.cpus);
  if (!options.memory.empty()) child.argv.push_back("--memory=" + options.memory);
  child.argv.push_back("--files=" + std::to_string(base::inherited_descriptor_limit()));
  if (options.container != 0) {
    child.argv.push_back("--container=" + std::to_string(options.container));
  }
  if (!options.working_directory.empty()) {
    child.argv.push_back("--chdir=" + options.working_directory);
  }
  child.argv.emplace_back("--");
  child.argv.insert(child.argv.end(), options.argv.begin(), options.argv.end());
  child.environment = options.environment;
  child.descriptors = {options.in_fd, options.out_fd, options.err_fd, control};
  return child;
}

std::string describe_trouble(const ShimOptions& options, const shim::Report& report) {
  const std::string cause = std::string(": ") + ::strerror(report.os_errno);
  const std::string worker = "'" + base::printable(options.argv.front()) + "'";
  const std::string folder = " '" + base::printable(options.working_directory) + "'";
  switch (report.stage) {
    case shim::Stage::kCgroup: return worker + " runs without a cgroup of its own" + cause;
    case shim::Stage::kAffinity:
      return worker + " is not bound to processors " + options.cpus + cause;
    case shim::Stage::kMemory:
      return worker + " has no memory policy " + options.memory + cause +
             (report.os_errno == EPERM    ? " (a container must allow set_mempolicy)"
              : report.os_errno == ENOSYS ? " (this kernel has no NUMA)"
                                          : "");
    case shim::Stage::kFork: return "cannot start a process for " + worker + cause;
    case shim::Stage::kSession: return "cannot make a session for " + worker + cause;
    case shim::Stage::kContainer: return "cannot start " + worker + " in its container" + cause;
    case shim::Stage::kDirectory: return "cannot start " + worker + " in" + folder + cause;
    case shim::Stage::kNone:
    case shim::Stage::kExec: break;
  }
  return "cannot start " + worker + cause;
}

// "process 123 (python3), state D, in nfs_wait_bit_killable"
std::string describe_survivor(pid_t pid) {
  if (pid == 0) return {};
  const std::string folder = "/proc/" + std::to_string(pid) + "/";
  std::string text = "process " + std::to_string(pid);
  if (const auto stat = base::read_file(folder + "stat", shim::kProcTextBytesMax)) {
    const std::size_t open = stat->find('(');
    const std::size_t close = stat->rfind(')');
    if (open != std::string::npos && close != std::string::npos && close + 2 < stat->size()) {
      text += " " + base::printable(stat->substr(open, close - open + 1)) + ", state ";
      text += (*stat)[close + 2];
    }
  }
  if (const auto wchan = base::read_file(folder + "wchan", shim::kProcTextBytesMax)) {
    if (wchan->size() > 1) text += ", in " + base::printable(*wchan);
  }
  return text;
}

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(boost::asio::any_io_executor executor, const ShimOptions& options,
          ShimLink::Handlers handlers)
      : options_(options), handlers_(std::move(handlers)), control_(executor), timer_(executor) {}
  ~Session() { forget_shim(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  base::Status start();
  base::Status adopt(const std::function<base::Status(int control)>& order);
  void close();
  void send(const shim::Order& order);
  void keep_going();
  void set_handlers(ShimLink::Handlers handlers) { handlers_ = std::move(handlers); }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  void bury();
  void await_reports();
  void read_reports();
  void await_shim();
  void handle(const shim::Report& report);
  void on_shim_exit(base::ExitStatus status);
  void sweep();
  void finish(unsigned killed, pid_t survivor);
  void forget_shim() { std::erase(live_shims(), pid_); }

  // Copied: the handler may destroy the link, and handlers_ with it.
  template <class... Parameters, class... Arguments>
  static void call(std::function<void(Parameters...)> handler, Arguments&&... arguments) {
    if (handler) handler(std::forward<Arguments>(arguments)...);
  }

  const ShimOptions options_;
  ShimLink::Handlers handlers_;
  stream_descriptor control_;
  boost::asio::steady_timer timer_;
  base::SystemClock clock_;
  std::optional<base::UnwatchedChild> child_;  // none: it is still to be adopted
  std::optional<base::SparedChild> coming_;  // until then
  base::Nanos reap_pause_{};
  base::Nanos closed_at_{};
  pid_t pid_ = 0;
  bool started_ = false;
  bool start_failed_ = false;
  bool exited_ = false;
  bool gone_ = false;
  bool shim_ended_ = false;
  unsigned killed_ = 0;
  unsigned stops_ = 0;  // of the shim
  pid_t survivor_ = 0;
  base::StrayKiller strays_;
};

base::Status Session::start() {
  RR_ASSERT(!options_.argv.empty());
  base::FdPair pair = RR_TRY(base::make_socket_pair(SOCK_SEQPACKET));
  // The socket reports the shim's end: a second descriptor per worker would be too many under a low
  // limit.
  child_.emplace(RR_TRY(base::UnwatchedChild::spawn(child_options(options_, pair.second.get()))));
  pid_ = child_->pid();
  live_shims().push_back(pid_);
  control_.assign(pair.first.release());
  await_reports();
  return {};
}

base::Status Session::adopt(const std::function<base::Status(int control)>& order) {
  RR_ASSERT(!options_.argv.empty());
  base::FdPair pair = RR_TRY(base::make_socket_pair(SOCK_SEQPACKET));
  coming_.emplace();
  RR_TRY(order(pair.second.get()));
  control_.assign(pair.first.release());
  await_reports();
  return {};
}

void Session::keep_going() {
  if (!child_ || shim_ended_ || !child_->continue_if_stopped()) return;
  if (++stops_ > shim::kStopsMax) child_->kill();
}

void Session::close() {
  handlers_ = {};
  keep_going();  // or it would not notice
  error_code ignored;
  control_.close(ignored);
  timer_.cancel();
  closed_at_ = clock_.now();
  bury();
}

// The shim kills its tree and ends. If it is not waited for, it stays a zombie.
void Session::bury() {
  if (!child_ || shim_ended_ || clock_.now() - closed_at_ > kBuryMax) return;
  if (child_->poll_exit()) {
    shim_ended_ = true;
    return forget_shim();
  }
  reap_pause_ = std::clamp<base::Nanos>(2 * reap_pause_, kReapPauseMin, kReapPauseMax);
  timer_.expires_after(reap_pause_);
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->bury();
  });
}

void Session::send(const shim::Order& order) {
  if (!control_.is_open()) return;
  // It fails when the shim has ended; then there is no process left to signal.
  static_cast<void>(
      ::send(control_.native_handle(), &order, sizeof order, MSG_DONTWAIT | MSG_NOSIGNAL));
}

void Session::await_reports() {
  control_.async_wait(stream_descriptor::wait_read,
                      [self = shared_from_this()](const error_code& error) {
                        if (!error) self->read_reports();
                      });
}

void Session::read_reports() {
  shim::Report report;
  while (control_.is_open()) {
    const ssize_t got = ::recv(control_.native_handle(), &report, sizeof report, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return await_reports();
    if (got != sizeof report) return await_shim();  // the shim has closed it
    handle(report);
  }
}

// The shim closes its socket when it ends, a moment before it can be reaped.
void Session::await_shim() {
  if (shim_ended_ || !control_.is_open()) return;
  if (!child_) return on_shim_exit({base::ExitStatus::Kind::kSignaled, SIGKILL});
  if (const auto status = child_->poll_exit()) return on_shim_exit(*status);
  reap_pause_ = std::clamp<base::Nanos>(2 * reap_pause_, kReapPauseMin, kReapPauseMax);
  timer_.expires_after(reap_pause_);
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->await_shim();
  });
}

void Session::handle(const shim::Report& report) {
  switch (report.kind) {
    case shim::Report::Kind::kAdopted:
      pid_ = report.pid;
      child_.emplace(base::UnwatchedChild::adopt(pid_));
      live_shims().push_back(pid_);
      return coming_.reset();
    case shim::Report::Kind::kStarted:
      started_ = true;
      if (report.stage != shim::Stage::kNone) {
        call(handlers_.on_notice, describe_trouble(options_, report));
      }
      return call(handlers_.on_started, pid_t{report.pid});
    case shim::Report::Kind::kStartFailed:
      start_failed_ = true;
      return call(handlers_.on_start_failed, report.os_errno, describe_trouble(options_, report));
    case shim::Report::Kind::kExited:
      exited_ = true;
      return call(handlers_.on_exited,
                  base::exit_status_from_siginfo(report.wait_code, report.wait_status),
                  base::Nanos{report.at_ns}, false);
    case shim::Report::Kind::kGone:
      gone_ = true;  // reported once the shim itself is gone, too
      killed_ = static_cast<unsigned>(report.killed);
      survivor_ = report.pid;
      return;
    case shim::Report::Kind::kSignalled: return call(handlers_.on_signalled, int{report.signal});
  }
}

void Session::on_shim_exit(base::ExitStatus status) {
  const auto self = shared_from_this();
  shim_ended_ = true;
  coming_.reset();
  forget_shim();
  if (!started_ && !start_failed_) {
    start_failed_ = true;
    call(handlers_.on_start_failed, 0,
         "cannot start '" + base::printable(options_.argv.front()) +
             "': its shim ended too early (" + base::describe(status) + ")");
  } else if (started_ && !exited_) {
    exited_ = true;
    call(handlers_.on_exited, base::ExitStatus{base::ExitStatus::Kind::kSignaled, SIGKILL},
         clock_.now(), !gone_);
  }
  // Not from within the child's own handler: the last handler often destroys everything.
  boost::asio::post(control_.get_executor(), [self] {
    if (!self->gone_) return self->sweep();
    self->finish(self->killed_, self->survivor_);
  });
}

// The shim was killed: its worker died with it (parent-death signal); other descendants were
// reparented to us.
void Session::sweep() {
  if (!options_.cgroup.empty()) kill_cgroup(options_.cgroup);
  std::vector<pid_t> known = live_shims();
  if (options_.other_children) {
    const std::vector<pid_t> others = options_.other_children();
    known.insert(known.end(), others.begin(), others.end());
  }
  if (strays_.sweep(known, clock_.now()) != base::StraySweep::kAgain) {
    return finish(strays_.killed(), strays_.survivor());
  }
  timer_.expires_after(shim::kStraySweepInterval);
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->sweep();
  });
}

void Session::finish(unsigned killed, pid_t survivor) {
  call(handlers_.on_gone, killed, describe_survivor(survivor));
}

class Link final : public ShimLink {
 public:
  explicit Link(std::shared_ptr<Session> session) : session_(std::move(session)) {}
  ~Link() override { session_->close(); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void signal_worker(int signal) override {
    session_->send({shim::Order::Kind::kSignalWorker, signal});
  }
  void signal_group(int signal) override {
    session_->send({shim::Order::Kind::kSignalGroup, signal});
  }
  void kill_tree() override { session_->send({shim::Order::Kind::kKillTree, 0}); }
  void keep_going() override { session_->keep_going(); }
  void set_handlers(Handlers handlers) override { session_->set_handlers(std::move(handlers)); }
  [[nodiscard]] pid_t shim_pid() const override { return session_->pid(); }

 private:
  std::shared_ptr<Session> session_;
};

}  // namespace

std::vector<std::string> ShimLink::adopting_argv(const ShimOptions& options) {
  std::vector<std::string> argv = {"robustrun-shim"};
  if (!options.cgroup.empty()) argv.push_back("--cgroup=" + options.cgroup);
  argv.emplace_back("--");
  argv.insert(argv.end(), options.argv.begin(), options.argv.end());
  return argv;
}

base::Result<std::unique_ptr<ShimLink>> ShimLink::start(boost::asio::any_io_executor executor,
                                                        const ShimOptions& options,
                                                        Handlers handlers) {
  auto session = std::make_shared<Session>(executor, options, std::move(handlers));
  if (auto started = session->start(); !started) {
    return std::unexpected(std::move(started).error());
  }
  return std::make_unique<Link>(std::move(session));
}

base::Result<std::unique_ptr<ShimLink>> ShimLink::adopt(
    boost::asio::any_io_executor executor, const ShimOptions& options, Handlers handlers,
    const std::function<base::Status(int control)>& order) {
  auto session = std::make_shared<Session>(executor, options, std::move(handlers));
  RR_TRY(session->adopt(order));
  return std::make_unique<Link>(std::move(session));
}

}  // namespace robustrun::agent
