// Each pass kills all direct children and reaps the dead ones. Their children are reparented to
// this process and met in the next pass, until none are left. That ends every ordinary tree. Two
// measures end trees that fork faster than a pass:
//  - When no child is to be spared, the whole process group of a dead child is killed before the
//    child is reaped: the zombie pins the group's number, and the kernel delivers a signal to a
//    group atomically with respect to fork(), so no member escapes.
//  - After some sweeps the tree is walked from the top and every process found is stopped, again
//    and again until no new one turns up. A stopped process cannot fork, keeps its place in the
//    process table, and keeps its children from being orphaned. Then all of them are killed.

#include "base/io/strays.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

namespace robustrun::base {
namespace {

constexpr std::size_t kChildrenPerPass = 1024;  // the rest is met in the next pass
constexpr std::size_t kInheritedMax = 256;
constexpr std::size_t kTreeMax = 2048;  // processes of one walk; the rest is met in the next
constexpr unsigned kTreeRounds = 16;
constexpr unsigned kPassesPerSweep = 8;
constexpr unsigned kEagerSweeps = 2;
constexpr std::size_t kReadBytes = 4096;

template <std::size_t N>
struct PidArray {
  pid_t pids[N];
  std::size_t size = 0;

  void add(pid_t pid) {
    if (size < N) pids[size++] = pid;
  }
  [[nodiscard]] std::span<const pid_t> view() const { return {pids, size}; }
};
using Children = PidArray<kChildrenPerPass>;

PidArray<kInheritedMax> inherited;

// In glibc since 2.36; the binary also runs on hosts with an older one.
int pidfd_of(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }
bool send_signal(int pidfd, int signal) {
  return ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0;
}

bool contains(std::span<const pid_t> pids, pid_t pid) {
  return std::find(pids.begin(), pids.end(), pid) != pids.end();
}

class File {
 public:
  File(int directory, const char* path, int flags = O_RDONLY)
      : fd_(::openat(directory, path, flags | O_CLOEXEC)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

struct ProcPath {
  char text[64] = "/proc/";
  ProcPath(pid_t pid, std::string_view file) {
    char* end = std::to_chars(text + 6, text + 32, pid).ptr;
    *std::copy(file.begin(), file.end(), end) = '\0';
  }
};

struct Stat {
  pid_t parent = 0;
  unsigned long long start = 0;  // identifies the process, together with its pid
};

// Reads fields 4 and 22 of /proc/PID/stat; field 2, the name, may hold anything but its last ')'.
bool read_stat(pid_t pid, Stat& stat) {
  const File file(AT_FDCWD, ProcPath(pid, "/stat").text);
  char text[kReadBytes];
  const ssize_t got = file ? ::read(file.get(), text, sizeof text) : -1;
  if (got <= 0) return false;
  std::string_view rest(text, static_cast<std::size_t>(got));
  const std::size_t name_end = rest.rfind(')');
  if (name_end == std::string_view::npos) return false;
  rest.remove_prefix(name_end + 1);
  for (int field = 3; field <= 22; ++field) {
    const std::size_t begin = rest.find_first_not_of(' ');
    if (begin == std::string_view::npos) return false;
    rest.remove_prefix(begin);
    const char* const end = rest.data() + rest.size();
    if (field == 4) std::from_chars(rest.data(), end, stat.parent);
    if (field == 22) return std::from_chars(rest.data(), end, stat.start).ec == std::errc{};
    rest.remove_prefix(std::min(rest.find(' '), rest.size()));
  }
  return false;
}

// Calls `visit(fd of the folder, name)` for every numeric entry of `path`.
template <class Visit>
bool for_each_number(const char* path, Visit visit) {
  const File folder(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
  if (!folder) return false;
  alignas(dirent64) char buffer[kReadBytes];
  for (;;) {
    const ssize_t got = ::getdents64(folder.get(), buffer, sizeof buffer);
    if (got <= 0) return got == 0;
    for (ssize_t at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      at += entry->d_reclen;
      if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') visit(folder.get(), entry->d_name);
    }
  }
}

void parse_pids(int fd, Children& out) {
  char buffer[kReadBytes];
  pid_t pid = 0;
  for (ssize_t got = 0; (got = ::read(fd, buffer, sizeof buffer)) > 0;) {
    for (const char* c = buffer; c != buffer + got; ++c) {
      if (*c >= '0' && *c <= '9') {
        pid = pid * 10 + (*c - '0');
      } else if (pid != 0) {
        out.add(std::exchange(pid, 0));
      }
    }
  }
  if (pid != 0) out.add(pid);
}

// For kernels without CONFIG_PROC_CHILDREN.
void scan_children(pid_t parent, Children& out) {
  for_each_number("/proc", [&](int, const char* name) {
    pid_t pid = 0;
    std::from_chars(name, name + std::strlen(name), pid);
    Stat stat;
    if (read_stat(pid, stat) && stat.parent == parent) out.add(pid);
  });
}

// May miss some children while others die: callers that need certainty list again.
void list_children(pid_t parent, Children& out) {
  out.size = 0;
  if (::access("/proc/thread-self/children", R_OK) != 0) return scan_children(parent, out);
  for_each_number(ProcPath(parent, "/task").text, [&](int folder, const char* thread) {
    char path[64];
    *std::copy_n("/children", 9, std::copy_n(thread, std::strlen(thread), path)) = '\0';
    if (const File file(folder, path); file) parse_pids(file.get(), out);
  });
}

// Asks the kernel rather than /proc, which may not be mounted, for callers that end every child.
bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

// Slots of SparedChild; 0 is free. Threads start tools while the loop's thread sweeps. There is no
// lock, because a sweep must not wait for a thread inside a system call.
constexpr pid_t kStarting = -1;
std::array<std::atomic<pid_t>, kSparedMax> spared;
std::atomic<unsigned> spared_begun;

// While a spared child is being started, any child may be that one.
bool is_spared(pid_t pid) {
  return std::ranges::any_of(spared, [pid](const std::atomic<pid_t>& one) {
    const pid_t is = one.load();
    return is == pid || is == kStarting;
  });
}

bool spares_none(std::span<const pid_t> known) {
  return known.empty() && inherited.size == 0 &&
         std::ranges::all_of(spared, [](const auto& one) { return one.load() == 0; });
}

// `pid` was listed before this check, so a child that became spared in between is seen.
bool is_orphan(pid_t pid, std::span<const pid_t> known) {
  return !contains(known, pid) && !contains(inherited.view(), pid) && !is_spared(pid);
}

// `pid` is dead and not yet reaped, so its group's number cannot have been reused. A session other
// than ours was created below this process and cannot be entered from outside.
void kill_group_of(pid_t pid) {
  const pid_t group = ::getpgid(pid);
  if (group > 1 && ::getsid(pid) != ::getsid(0)) ::kill(-group, SIGKILL);
}

struct Process {
  pid_t pid;
  unsigned long long start;
};

// Signals `pid` if it is a child of `parent` (this process, or one with a known start time). The
// pidfd is opened first: if the examined process has been replaced meanwhile, the process behind
// the pidfd is dead and the signal has no effect.
bool signal_child(pid_t pid, const Process& parent, int signal, Process& child) {
  const int pidfd = pidfd_of(pid);
  if (pidfd < 0) return false;
  Stat stat;
  Stat parent_stat;
  const bool verified = read_stat(pid, stat) && stat.parent == parent.pid &&
                        (parent.pid == ::getpid() ||
                         (read_stat(parent.pid, parent_stat) && parent_stat.start == parent.start));
  const bool sent = verified && send_signal(pidfd, signal);
  ::close(pidfd);
  child = {pid, stat.start};
  return sent;
}

void kill_process(const Process& process) {
  const int pidfd = pidfd_of(process.pid);
  if (pidfd < 0) return;
  Stat stat;
  if (read_stat(process.pid, stat) && stat.start == process.start) {
    send_signal(pidfd, SIGKILL);
  }
  ::close(pidfd);
}

// The orphans and all their descendants, parents first; the first entry is this process.
struct Tree {
  std::span<const pid_t> known;
  Process processes[kTreeMax];
  std::size_t size = 0;

  explicit Tree(std::span<const pid_t> others) : known(others) {
    processes[size++] = {::getpid(), 0};
  }

  [[nodiscard]] bool has(pid_t pid) const {
    return std::any_of(processes, processes + size,
                       [&](const Process& one) { return one.pid == pid; });
  }

  // Signals children of entry `i` that the tree does not hold yet, and adds them.
  void grow(std::size_t i, int signal) {
    Children children;
    list_children(processes[i].pid, children);
    for (const pid_t pid : children.view()) {
      if (size == kTreeMax || (i == 0 && !is_orphan(pid, known)) || has(pid)) continue;
      Process child;
      if (signal_child(pid, processes[i], signal, child)) processes[size++] = child;
    }
  }

  // Repeats until a whole round finds no new process.
  void grow_all(int signal) {
    std::size_t before = 0;
    for (unsigned round = 0; before != size && round < kTreeRounds; ++round) {
      before = size;
      for (std::size_t i = 0; i < size; ++i) grow(i, signal);
    }
  }
};

// A process that is about to stop may still finish a fork(); one that has received SIGKILL does not
// (copy_process() checks for a fatal signal last). So children are listed once more after SIGKILL.
void freeze_and_kill(std::span<const pid_t> known) {
  Tree tree(known);
  tree.grow_all(SIGSTOP);
  for (std::size_t i = 0; i < tree.size; ++i) {
    if (i > 0) kill_process(tree.processes[i]);
    tree.grow(i, SIGKILL);
  }
  tree.grow_all(SIGKILL);
}

}  // namespace

void become_subreaper() {
  Children children;
  list_children(::getpid(), children);
  for (const pid_t pid : children.view()) {
    if (!contains(inherited.view(), pid)) inherited.add(pid);
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);  // fails only on kernels before 3.4
}

SparedChild::SparedChild() : slot_(0) {
  for (; slot_ < kSparedMax; ++slot_) {
    pid_t free = 0;
    if (spared[slot_].compare_exchange_strong(free, kStarting)) break;
  }
  spared_begun.fetch_add(1);
}

SparedChild::~SparedChild() {
  if (slot_ < kSparedMax) spared[slot_].store(0);
}

void SparedChild::is(pid_t pid) {
  if (slot_ < kSparedMax) spared[slot_].store(pid);
}

StrayKiller::Pass StrayKiller::kill_children(std::span<const pid_t> known, ReapSink* sink) {
  const unsigned begun = spared_begun.load();
  const bool starting = is_spared(kStarting);
  Children children;
  list_children(::getpid(), children);
  Pass pass;
  for (const pid_t pid : children.view()) {
    if (!is_orphan(pid, known)) continue;
    siginfo_t info{};
    const auto id = static_cast<id_t>(pid);
    if (::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0) continue;  // not our child
    if (info.si_pid == 0) {
      ++pass.alive;
      survivor_ = pid;
      ::kill(pid, SIGKILL);
      continue;
    }
    if (spares_none(known)) kill_group_of(pid);
    ::waitid(P_PID, id, &info, WEXITED | WNOHANG);
    ++pass.reaped;
    if (info.si_code == CLD_KILLED && info.si_status == SIGKILL) ++killed_;
    if (sink != nullptr) sink->reaped(info);
  }
  // Orphans may have been mistaken for the spared child that is starting: look again.
  if (starting || spared_begun.load() != begun || is_spared(kStarting)) ++pass.alive;
  return pass;
}

StraySweep StrayKiller::finish(StraySweep outcome) {
  running_ = false;
  sweeps_ = 0;
  if (outcome == StraySweep::kDone) survivor_ = 0;
  return outcome;
}

StraySweep StrayKiller::sweep(std::span<const pid_t> known, Nanos now, ReapSink* sink) {
  if (!std::exchange(running_, true)) started_ = last_death_ = now;
  unsigned empty_passes = 0;
  for (unsigned i = 0; i < kPassesPerSweep; ++i) {
    const Pass pass = kill_children(known, sink);
    if (pass.reaped > 0) last_death_ = now;
    if (pass.alive > 0 && pass.reaped == 0) break;  // wait for deaths
    // Processes that died during the listing may have hidden others from it.
    empty_passes = pass.alive == 0 && pass.reaped == 0 ? empty_passes + 1 : 0;
    if (empty_passes < 2) continue;
    if (!spares_none(known) || !has_children()) return finish(StraySweep::kDone);
  }
  if (is_spared(kStarting)) last_death_ = now;  // nothing may be killed now
  if (now - last_death_ > kStrayStuckAfter || now - started_ > kStrayGiveUpAfter) {
    return finish(StraySweep::kStuck);
  }
  // Less and less often: processes that are already dying need the processor more.
  if (++sweeps_ > kEagerSweeps && std::has_single_bit(sweeps_)) freeze_and_kill(known);
  return StraySweep::kAgain;
}

}  // namespace robustrun::base
