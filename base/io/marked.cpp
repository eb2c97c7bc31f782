#include "base/io/marked.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/limits.h"

namespace robustrun::base {
namespace {

Fd open_pidfd(pid_t pid) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

std::string proc_file(pid_t pid, const char* name) {
  return read_file("/proc/" + std::to_string(pid) + "/" + name, kProcFileBytesMax).value_or("");
}

bool has_mark(pid_t pid, const ProcessMark& mark) {
  const std::string command = proc_file(pid, "cmdline");
  const auto words = split(command, '\0');
  if (words.size() < 2 || words[1] != mark.argument) return false;
  const std::string environment = proc_file(pid, "environ");
  const auto entries = split(environment, '\0');
  return std::ranges::all_of(mark.entries, [&](const std::string& entry) {
    return std::ranges::find(entries, std::string_view(entry)) != entries.end();
  });
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const auto pid = parse_int<pid_t>(entry->path().filename().string());
    if (pid && *pid != ::getpid()) pids.push_back(*pid);
  }
  return pids;
}

// Adds the children of `pid` to `watched`, before `pid` is killed and they are orphaned.
void watch_children(pid_t pid, std::vector<Fd>& watched) {
  std::error_code error;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (std::filesystem::directory_iterator task(tasks, error), end; !error && task != end;
       task.increment(error)) {
    const auto list = read_file(task->path().string() + "/children", kProcFileBytesMax);
    if (!list) continue;
    for (const std::string_view word : split(*list, ' ')) {
      const auto child = parse_int<pid_t>(word);
      if (!child) continue;
      if (Fd pidfd = open_pidfd(*child)) watched.push_back(std::move(pidfd));
    }
  }
}

void wait_for_ends(const std::vector<Fd>& watched, std::chrono::milliseconds wait) {
  const SystemClock clock;
  const Nanos until = clock.now() + wait;
  for (const Fd& pidfd : watched) {
    for (pollfd end{pidfd.get(), POLLIN, 0};;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock.now()).count();
      if (left <= 0) return;
      if (::poll(&end, 1, static_cast<int>(left)) >= 0 || errno != EINTR) break;
    }
  }
}

}  // namespace

unsigned kill_marked(const ProcessMark& mark, std::chrono::milliseconds wait) {
  std::vector<Fd> watched;
  unsigned killed = 0;
  for (const pid_t pid : all_processes()) {
    Fd pidfd = open_pidfd(pid);  // opened first, so that what is read belongs to this very process
    if (!pidfd || !has_mark(pid, mark)) continue;
    watch_children(pid, watched);
    if (::syscall(SYS_pidfd_send_signal, pidfd.get(), SIGKILL, nullptr, 0) != 0) continue;
    ++killed;
    watched.push_back(std::move(pidfd));
  }
  wait_for_ends(watched, wait);
  return killed;
}

}  // namespace robustrun::base
