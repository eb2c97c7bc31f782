// The shim: see protocol.h. One loop over the control socket, a signalfd and the fork's report
// pipe; ends in kill_tree().

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "agent/shim/kill_tree.h"
#include "agent/shim/protocol.h"
#include "agent/shim/worker.h"

namespace robustrun::agent::shim {
namespace {

constexpr int kUsageError = 2;

bool parse(char** arguments, Options& options) {
  const auto value = [](const char* argument, const char* name) -> const char* {
    const std::size_t length = std::strlen(name);
    return std::strncmp(argument, name, length) == 0 ? argument + length : nullptr;
  };
  for (; *arguments != nullptr; ++arguments) {
    if (std::strcmp(*arguments, "--") == 0) {
      options.argv = arguments + 1;
      return *options.argv != nullptr;
    }
    if (const char* folder = value(*arguments, "--cgroup=")) {
      options.cgroup = folder;
    } else if (const char* cpus = value(*arguments, "--cpus=")) {
      options.cpus = cpus;
    } else if (const char* memory = value(*arguments, "--memory=")) {
      options.memory = memory;
    } else if (const char* files = value(*arguments, "--files=")) {
      options.files = std::strtoull(files, nullptr, 10);
      if (options.files == 0) return false;
    } else if (const char* directory = value(*arguments, "--chdir=")) {
      options.directory = directory;
    } else if (const char* worker = value(*arguments, "--adopt=")) {
      options.adopted = static_cast<pid_t>(std::strtol(worker, nullptr, 10));
      if (options.adopted <= 0) return false;
    } else if (std::strcmp(*arguments, "--template") == 0) {
      options.is_template = true;
    } else if (const char* container = value(*arguments, "--container=")) {
      options.container = container;
    } else {
      return false;
    }
  }
  return false;
}

class Shim final : private base::StrayKiller::ReapSink {
 public:
  explicit Shim(const Options& options) : options_(options) {}

  // False: the agent is gone already, or descriptor 3 is not its socket.
  bool set_up() {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_SETMASK, &all, nullptr);
    reset_signal_dispositions();
    ::syscall(SYS_close_range, kControlFd + 1, ~0U, 0);
    if (options_.adopted == 0) {
      base::become_subreaper();
    } else {
      ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);  // the child that it has is its own to kill
    }
    ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    // The agent made the socket pair: another parent means that it died before the line above.
    ucred agent{};
    socklen_t size = sizeof agent;
    if (::getsockopt(kControlFd, SOL_SOCKET, SO_PEERCRED, &agent, &size) != 0) return false;
    if (agent.pid != ::getppid()) return false;
    ::fcntl(kControlFd, F_SETFD, FD_CLOEXEC);
    sigset_t wanted;
    ::sigemptyset(&wanted);
    for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
      ::sigaddset(&wanted, signal);
    }
    agent_ = agent.pid;
    signals_ = ::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals_ >= 0;
  }

  void run() {
    if (options_.adopted == 0) {
      start_worker();
    } else {
      adopt_worker();
    }
    while (!killing_) {
      pollfd watched[] = {{trouble_, POLLIN, 0}, {kControlFd, POLLIN, 0}, {signals_, POLLIN, 0}};
      if (::poll(watched, 3, -1) < 0) continue;
      if (watched[0].revents != 0) read_trouble();
      if (watched[1].revents != 0) read_orders();
      if (watched[2].revents != 0) read_signals();
    }
    end();
  }

 private:
  void start_worker() {
    int pipe[2];
    const pid_t self = ::getpid();
    bool in_cgroup = false;
    if (::pipe2(pipe, O_CLOEXEC) == 0) worker_ = fork_worker(options_.cgroup, &in_cgroup);
    if (worker_ == 0) become_worker(options_, in_cgroup, self, pipe[1]);
    if (worker_ < 0) {
      trouble_seen_ = {Stage::kFork, errno};
      killing_ = true;
      return;
    }
    ::close(pipe[1]);
    trouble_ = pipe[0];
  }

  void adopt_worker() {
    Report report{};
    report.kind = Report::Kind::kAdopted;
    report.pid = ::getpid();
    send(report);
    worker_ = options_.adopted;
    report_start();
    read_signals();  // its death may have come before the signalfd
  }

  // The pipe's end means the exec or the child's death.
  void read_trouble() {
    Trouble trouble;
    if (::read(trouble_, &trouble, sizeof trouble) == sizeof trouble) {
      trouble_seen_ = trouble;
      return;
    }
    ::close(trouble_);
    trouble_ = -1;
    report_start();
  }

  void report_start() {
    if (start_reported_) return;
    start_reported_ = true;
    const Stage stage = trouble_seen_.stage;
    failed_ = stage != Stage::kNone && stage != Stage::kCgroup && stage != Stage::kAffinity &&
              stage != Stage::kMemory;
    Report report{};
    report.kind = failed_ ? Report::Kind::kStartFailed : Report::Kind::kStarted;
    report.pid = failed_ ? 0 : worker_;
    report.stage = stage;
    report.os_errno = trouble_seen_.os_errno;
    send(report);
    if (failed_) killing_ = true;
  }

  void read_orders() {
    Order order;
    const ssize_t got = ::recv(kControlFd, &order, sizeof order, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got != sizeof order || order.kind == Order::Kind::kKillTree) {
      killing_ = true;
    } else if (order.kind == Order::Kind::kSignalGroup) {
      // The worker is not reaped while this loop runs, so the number is still its own and its
      // group's. Before its setsid() there is no such group.
      if (::kill(-worker_, order.signal) != 0) ::kill(worker_, order.signal);
    } else if (order.kind == Order::Kind::kSignalWorker) {
      ::kill(worker_, order.signal);
    }
  }

  void read_signals() {
    signalfd_siginfo signal;
    while (::read(signals_, &signal, sizeof signal) == sizeof signal) {
      if (signal.ssi_signo != SIGCHLD) signalled(static_cast<int>(signal.ssi_signo));
    }
    // Reaps adopted orphans, but not the dead worker, which keeps its process group's number for
    // kill_tree().
    siginfo_t info{};
    while (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
      if (info.si_pid == worker_) {
        report_exit(info);
        killing_ = true;
        return;
      }
      ::waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WEXITED | WNOHANG);
      info = {};
    }
  }

  // The agent's death sends SIGTERM as well, and then we have another parent.
  void signalled(int signal) {
    if (::getppid() != agent_) {
      killing_ = true;
      return;
    }
    Report report{};
    report.kind = Report::Kind::kSignalled;
    report.signal = signal;
    send(report);
  }

  void report_exit(const siginfo_t& info) {
    if (exit_reported_) return;
    while (trouble_ >= 0) read_trouble();  // the child is dead: its end of the pipe is closed
    exit_reported_ = true;
    worker_killed_ = info.si_code == CLD_KILLED && info.si_status == SIGKILL;
    if (failed_) return;
    Report report{};
    report.kind = Report::Kind::kExited;
    report.pid = worker_;
    report.wait_code = info.si_code;
    report.wait_status = info.si_status;
    send(report);
  }

  void reaped(const siginfo_t& info) override {
    if (info.si_pid == worker_) report_exit(info);
  }

  void end() {
    const base::StrayKiller killer = kill_tree(options_.cgroup, signals_, *this);
    report_start();  // a worker that did not even die before its exec
    Report report{};
    report.kind = Report::Kind::kGone;
    report.pid = killer.survivor();
    report.killed = static_cast<std::int32_t>(killer.killed()) - (worker_killed_ ? 1 : 0);
    send(report);
  }

  // A dead agent does not read the report, which is no reason to stop.
  void send(Report& report) {
    report.at_ns = monotonic_now().count();
    if (::send(kControlFd, &report, sizeof report, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) return;
  }

  const Options options_;
  pid_t agent_ = -1;
  pid_t worker_ = -1;
  int signals_ = -1;
  int trouble_ = -1;  // read end of the report pipe, until the exec
  Trouble trouble_seen_{Stage::kNone, 0};
  bool start_reported_ = false;
  bool failed_ = false;
  bool exit_reported_ = false;
  bool worker_killed_ = false;
  bool killing_ = false;
};

// See protocol.h.
int become_template(const Options& options) {
  reset_signal_dispositions();  // posix_spawn() leaves the C library's own signals ignored
  ucred agent{};
  socklen_t size = sizeof agent;
  if (::getsockopt(kControlFd, SOL_SOCKET, SO_PEERCRED, &agent, &size) != 0) return kUsageError;
  constexpr int kNowhere = -1;  // a failed start is seen by its end
  become_worker(options, false, agent.pid, kNowhere);
}

// See protocol.h.
int hold() {
  char text[16];
  const int size = std::snprintf(text, sizeof text, "%d\n", ::getpid());
  if (::write(STDOUT_FILENO, text, static_cast<std::size_t>(size)) != size) return kUsageError;
  while (true) ::pause();
}

}  // namespace
}  // namespace robustrun::agent::shim

int main(int argc, char** argv) {
  using robustrun::agent::shim::Options;
  using robustrun::agent::shim::Shim;
  Options options;
  if (argc == 2 && std::strcmp(argv[1], "--hold") == 0) return robustrun::agent::shim::hold();
  if (argc < 2 || !robustrun::agent::shim::parse(argv + 1, options)) {
    return robustrun::agent::shim::kUsageError;
  }
  if (options.is_template) return robustrun::agent::shim::become_template(options);
  Shim shim(options);
  if (!shim.set_up()) return robustrun::agent::shim::kUsageError;
  shim.run();
  return 0;
}
