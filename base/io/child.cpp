#include "base/io/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <csignal>

#include "base/io/descriptor_limit.h"
#include "base/io/unwatched_child.h"

// glibc 2.36's <sys/pidfd.h> cannot be used from C++ (its functions lack extern "C").

namespace robustrun::base {
namespace {

using boost::asio::posix::stream_descriptor;

constexpr std::size_t kStandardDescriptors = 3;

// With an inherited SIG_IGN for SIGCHLD the kernel would discard exit statuses.
void keep_exit_statuses() {
  struct sigaction current{};
  RR_ASSERT(::sigaction(SIGCHLD, nullptr, &current) == 0);
  if (current.sa_handler == SIG_IGN) ::signal(SIGCHLD, SIG_DFL);
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (const std::string& text : strings) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

class FileActions {
 public:
  FileActions() { RR_ASSERT(::posix_spawn_file_actions_init(&actions_) == 0); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  // Source descriptors below the number of targets are first copied above it, so that no dup2 in
  // the child overwrites a source that is still needed. The copies live until the spawn is done.
  Status plan(const std::vector<int>& descriptors) {
    const std::size_t count = std::max(descriptors.size(), kStandardDescriptors);
    for (std::size_t i = 0; i < count; ++i) {
      const int target = static_cast<int>(i);
      int source = i < descriptors.size() ? descriptors[i] : -1;
      if (source < 0) {
        RR_ASSERT(::posix_spawn_file_actions_addopen(&actions_, target, "/dev/null", O_RDWR, 0) ==
                  0);
        continue;
      }
      if (source < static_cast<int>(count)) {
        source = ::fcntl(source, F_DUPFD_CLOEXEC, static_cast<int>(count));
        if (source < 0) return fail_errno("cannot copy a descriptor for a child", errno);
        copies_.emplace_back(source);
      }
      const int refused = ::posix_spawn_file_actions_adddup2(&actions_, source, target);
      if (refused != 0) return fail_errno("cannot pass a descriptor to a child", refused);
    }
    RR_ASSERT(::posix_spawn_file_actions_addclosefrom_np(&actions_, static_cast<int>(count)) == 0);
    return {};
  }

  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
  std::vector<Fd> copies_;
};

class Attributes {
 public:
  explicit Attributes(bool new_session) {
    RR_ASSERT(::posix_spawnattr_init(&attributes_) == 0);
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    const int flags =
        POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (new_session ? POSIX_SPAWN_SETSID : 0);
    RR_ASSERT(::posix_spawnattr_setflags(&attributes_, static_cast<short>(flags)) == 0);
  }
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

// 0, or the errno. The pid cannot be recycled meanwhile: only this process can reap it.
int open_pidfd(pid_t pid, stream_descriptor& out) {
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd) return errno;
  boost::system::error_code error;
  out.assign(pidfd.get(), error);
  if (error) return error.value();
  static_cast<void>(pidfd.release());
  return 0;
}

// Reaps the child; si_pid stays 0 while it lives.
siginfo_t poll_exit(int pidfd) {
  siginfo_t info{};
  while (::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG) != 0) {
    RR_ASSERT(errno == EINTR);  // ECHILD: other code in this process reaped our child
  }
  return info;
}

// A failed exec is reported as an error.
Result<pid_t> spawn_process(const ChildOptions& options) {
  RR_ASSERT(!options.argv.empty());
  keep_exit_statuses();
  FileActions actions;
  if (auto planned = actions.plan(options.descriptors); !planned) {
    return std::unexpected(std::move(planned).error());
  }
  const Attributes attributes(options.new_session);
  const std::vector<char*> argv = pointers(options.argv);
  const std::vector<char*> environment = pointers(options.environment);
  pid_t pid = 0;
  const int failure = ::posix_spawn(&pid, options.executable.c_str(), actions.get(),
                                    attributes.get(), argv.data(), environment.data());
  if (failure != 0) return fail_errno("cannot start " + options.executable, failure);
  give_inherited_descriptor_limit(pid);  // posix_spawn(3) has no attribute for it
  return pid;
}

}  // namespace

bool has_pidfd() {
  const Fd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (!self) return false;
  // We are no child of ours; a kernel that does not know P_PIDFD finds the arguments invalid.
  siginfo_t info{};
  return ::syscall(SYS_waitid, P_PIDFD, self.get(), &info, WEXITED | WNOHANG, nullptr) == 0 ||
         errno == ECHILD;
}

// Shared by the pending wait and the Child, which may be destroyed in its own handler.
struct Child::Watch {
  explicit Watch(const boost::asio::any_io_executor& executor) : pidfd(executor) {}
  stream_descriptor pidfd;
  ExitHandler on_exit;
};

void Child::await_exit(const std::shared_ptr<Watch>& watch) {
  watch->pidfd.async_wait(stream_descriptor::wait_read, [watch](boost::system::error_code error) {
    if (error || !watch->on_exit) return;
    const siginfo_t info = poll_exit(watch->pidfd.native_handle());
    if (info.si_pid == 0) return await_exit(watch);
    const ExitHandler on_exit = std::move(watch->on_exit);
    watch->on_exit = nullptr;
    on_exit(exit_status_from_siginfo(info.si_code, info.si_status));
  });
}

Child::~Child() {
  if (watch_->on_exit) poll_exit(watch_->pidfd.native_handle());
  watch_->on_exit = nullptr;
  boost::system::error_code ignored;
  watch_->pidfd.close(ignored);
}

Status Child::signal(int signal) {
  const int pidfd = watch_->pidfd.native_handle();
  if (::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0) return {};
  const std::string what = "cannot send " + signal_name(signal) + " to " + std::to_string(pid_);
  if (errno == ESRCH) return fail(Errc::kNotFound, what + ": it has ended");
  return fail_errno(what, errno);
}

Result<std::unique_ptr<Child>> Child::spawn(boost::asio::any_io_executor executor,
                                            const ChildOptions& options, ExitHandler on_exit) {
  RR_ASSERT(on_exit);
  const pid_t pid = RR_TRY(spawn_process(options));
  auto watch = std::make_shared<Watch>(executor);
  if (const int cause = open_pidfd(pid, watch->pidfd); cause != 0) {
    ::kill(pid, SIGKILL);
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED);
    return fail_errno("cannot watch " + options.executable, cause);
  }
  watch->on_exit = std::move(on_exit);
  await_exit(watch);
  return std::unique_ptr<Child>(new Child(pid, std::move(watch)));
}

Result<UnwatchedChild> UnwatchedChild::spawn(const ChildOptions& options) {
  return UnwatchedChild(RR_TRY(spawn_process(options)));
}

std::optional<ExitStatus> UnwatchedChild::poll_exit() {
  if (pid_ == 0) return std::nullopt;
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) != 0) {
    RR_ASSERT(errno == EINTR);  // ECHILD: other code in this process reaped our child
  }
  if (info.si_pid == 0) return std::nullopt;
  pid_ = 0;
  return exit_status_from_siginfo(info.si_code, info.si_status);
}

bool UnwatchedChild::continue_if_stopped() {
  if (pid_ == 0) return false;
  siginfo_t info{};
  const bool is_stopped =
      ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0;
  if (is_stopped) ::kill(pid_, SIGCONT);
  return is_stopped;
}

void UnwatchedChild::kill() {
  if (pid_ != 0) ::kill(pid_, SIGKILL);
}

}  // namespace robustrun::base
