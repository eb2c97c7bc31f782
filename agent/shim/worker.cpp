#include "agent/shim/worker.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/mempolicy.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>

#include "agent/shim/limits.h"

namespace robustrun::agent::shim {
namespace {

constexpr int kSignals = 64;
constexpr int kCannotExecute = 127;
constexpr std::string_view kDefaultPath = "/bin:/usr/bin";  // Python's os.defpath

void report(int fd, Stage stage, int os_errno) {
  const Trouble trouble{stage, os_errno};
  if (::write(fd, &trouble, sizeof trouble) < 0) return;  // the shim is gone, and so are we
}

int join_cgroup(const char* folder) {
  const int directory = ::open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
  const int procs = directory < 0 ? -1 : ::openat(directory, "cgroup.procs", O_WRONLY | O_CLOEXEC);
  return procs >= 0 && ::write(procs, "0", 1) == 1 ? 0 : errno;
}

constexpr std::size_t kWordBits = sizeof(unsigned long) * CHAR_BIT;

// Parses "0-3,8" into bits; false: malformed, or a number beyond the mask.
bool read_list(std::string_view list, std::span<unsigned long> mask) {
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at != end) {
    unsigned first = 0;
    auto parsed = std::from_chars(at, end, first);
    unsigned last = first;
    if (parsed.ec == std::errc{} && parsed.ptr != end && *parsed.ptr == '-') {
      parsed = std::from_chars(parsed.ptr + 1, end, last);
    }
    if (parsed.ec != std::errc{} || last < first || last >= mask.size() * kWordBits) return false;
    for (unsigned i = first; i <= last; ++i) mask[i / kWordBits] |= 1UL << i % kWordBits;
    at = parsed.ptr;
    if (at != end && *at++ != ',') return false;
  }
  return true;
}

int bind_processors(std::string_view list) {
  unsigned long mask[kProcessorsMax / kWordBits] = {};
  if (!read_list(list, mask)) return EINVAL;
  return ::syscall(SYS_sched_setaffinity, 0, sizeof mask, mask) < 0 ? errno : 0;
}

// Parses "bind:0-1" or "prefer:0-1". Kernels before 5.15 prefer one node only: the first.
int set_memory_policy(std::string_view policy) {
  unsigned long mask[kNumaNodesMax / kWordBits] = {};
  const std::size_t colon = policy.find(':');
  if (colon == std::string_view::npos || !read_list(policy.substr(colon + 1), mask)) return EINVAL;
  // The kernel uses one bit less than it is told.
  const auto set = [&mask](int mode) {
    return ::syscall(SYS_set_mempolicy, mode, mask, kNumaNodesMax + 1) < 0 ? errno : 0;
  };
  if (policy.starts_with("bind:")) return set(MPOL_BIND);
  const int failed = set(MPOL_PREFERRED_MANY);
  return failed == EINVAL ? set(MPOL_PREFERRED) : failed;
}

// Enters one namespace of the container, unless it is ours already (entering one's own user
// namespace is an error). Returns 0 or an errno.
int enter_namespace(const char* container, const char* kind, int type) {
  char path[PATH_MAX];
  char own[64];
  std::snprintf(path, sizeof path, "/proc/%s/ns/%s", container, kind);
  std::snprintf(own, sizeof own, "/proc/self/ns/%s", kind);
  const int space = ::open(path, O_RDONLY | O_CLOEXEC);
  struct stat theirs{};
  struct stat ours{};
  if (space < 0 || ::fstat(space, &theirs) != 0 || ::stat(own, &ours) != 0) return errno;
  if (theirs.st_ino == ours.st_ino) return 0;
  return ::setns(space, type) != 0 ? errno : 0;
}

// The user namespace first: it gives the right to enter the other one.
int enter_container(const char* container) {
  const int failed = enter_namespace(container, "user", CLONE_NEWUSER);
  return failed != 0 ? failed : enter_namespace(container, "mnt", CLONE_NEWNS);
}

std::string_view search_path() {
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "PATH=", 5) == 0) return *entry + 5;
  }
  return kDefaultPath;
}

// Searches like Python (and so torchrun), not like execvp(): a file of unknown format is an error
// and is not given to a shell. Returns the first errno that says more than "not here".
int execute(char** argv) {
  const std::string_view program = argv[0];
  if (program.find('/') != std::string_view::npos) {
    ::execve(argv[0], argv, environ);
    return errno;
  }
  int cause = 0;
  std::string_view path = search_path();
  for (bool more = true; more;) {
    const std::size_t colon = path.find(':');
    const std::string_view folder = path.substr(0, colon);
    more = colon != std::string_view::npos;
    if (more) path.remove_prefix(colon + 1);
    char candidate[PATH_MAX];
    if (folder.size() + program.size() + 2 > sizeof candidate) continue;
    char* end = std::copy(folder.begin(), folder.end(), candidate);
    if (!folder.empty()) *end++ = '/';
    *std::copy(program.begin(), program.end(), end) = '\0';
    ::execve(candidate, argv, environ);
    if (errno != ENOENT && errno != ENOTDIR && cause == 0) cause = errno;
  }
  return cause != 0 ? cause : ENOENT;
}

}  // namespace

void reset_signal_dispositions() {
  // All zeros is SIG_DFL without flags in the kernel's own layout, which, unlike the C library's
  // sigaction(), also accepts signals 32 and 33.
  const unsigned long default_action[8] = {};
  for (int signal = 1; signal <= kSignals; ++signal) {
    ::syscall(SYS_rt_sigaction, signal, default_action, nullptr, sizeof(unsigned long));
  }
}

pid_t fork_worker(const char* cgroup, bool* in_cgroup) {
  const int folder = cgroup == nullptr ? -1 : ::open(cgroup, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    clone_args arguments{};
    arguments.flags = CLONE_INTO_CGROUP;
    arguments.exit_signal = SIGCHLD;
    arguments.cgroup = static_cast<std::uint64_t>(folder);
    const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
    *in_cgroup = pid >= 0;
    if (pid != 0) ::close(folder);
    if (pid >= 0) return static_cast<pid_t>(pid);
  }
  return ::fork();
}

void become_worker(const Options& options, bool in_cgroup, pid_t shim, int report_fd) {
  const auto fail = [&](Stage stage, int os_errno) {
    report(report_fd, stage, os_errno);
    ::_exit(kCannotExecute);
  };
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != shim) ::_exit(kCannotExecute);  // the shim died before the line above
  if (!options.is_template && ::setsid() < 0) fail(Stage::kSession, errno);
  if (options.cgroup != nullptr && !in_cgroup) {
    if (const int failed = join_cgroup(options.cgroup)) report(report_fd, Stage::kCgroup, failed);
  }
  if (options.cpus != nullptr) {
    if (const int failed = bind_processors(options.cpus)) {
      report(report_fd, Stage::kAffinity, failed);
    }
  }
  if (options.memory != nullptr) {
    if (const int failed = set_memory_policy(options.memory)) {
      report(report_fd, Stage::kMemory, failed);
    }
  }
  rlimit files{};
  if (options.files != 0 && ::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = std::min(options.files, files.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  if (options.container != nullptr) {
    if (const int failed = enter_container(options.container)) fail(Stage::kContainer, failed);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);  // a change of credentials has cleared it
    if (::getppid() != shim) ::_exit(kCannotExecute);
  }
  if (options.directory != nullptr && ::chdir(options.directory) != 0) {
    fail(Stage::kDirectory, errno);
  }
  const int first_closed = options.is_template ? kControlFd + 1 : kControlFd;
  ::syscall(SYS_close_range, first_closed, ~0U, CLOSE_RANGE_CLOEXEC);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  fail(Stage::kExec, execute(options.argv));
  __builtin_unreachable();
}

}  // namespace robustrun::agent::shim
