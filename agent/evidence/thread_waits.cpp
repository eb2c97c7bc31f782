#include "agent/evidence/thread_waits.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include "agent/node/folder.h"
#include "agent/node/limits.h"
#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

// The system call that a thread is blocked in.
struct Call {
  long number = -1;
  std::array<std::uint64_t, 6> arguments{};
};

// "230 0x1 0x1 0x7ffd2aa543c0 0x0 0x0 0x0 …"; none: it is running, or may not be seen.
std::optional<Call> call_of(const std::string& folder) {
  const auto text = base::read_file(folder + "/syscall", kProcStatusBytesMax);
  if (!text) return std::nullopt;
  const auto words = base::split(base::trim(*text), ' ');
  Call call;
  if (words.size() <= call.arguments.size()) return std::nullopt;
  const auto number = base::parse_int<long>(words[0]);
  if (!number || *number < 0) return std::nullopt;
  call.number = *number;
  for (std::size_t i = 0; i < call.arguments.size(); ++i) {
    const std::string_view word = words[i + 1];
    if (!word.starts_with("0x")) return std::nullopt;
    std::from_chars(word.data() + 2, word.data() + word.size(), call.arguments[i], 16);
  }
  return call;
}

// Reads `count` objects at an address of the process; empty: not readable.
template <class T>
std::vector<T> memory_of(pid_t pid, std::uint64_t address, std::size_t count) {
  const base::Fd memory(::open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<T> read(count);
  const std::size_t size = count * sizeof(T);
  if (!memory || ::pread(memory.get(), read.data(), size, static_cast<off_t>(address)) !=
                     static_cast<ssize_t>(size)) {
    return {};
  }
  return read;
}

constexpr long kPollCalls[] = {
#ifdef SYS_poll
    SYS_poll,
#endif
    SYS_ppoll};
// None of them waits for something that is under way.
constexpr long kIdleCalls[] = {
#ifdef SYS_epoll_wait
    SYS_epoll_wait,
#endif
    SYS_epoll_pwait,
#ifdef SYS_epoll_pwait2
    SYS_epoll_pwait2,
#endif
    SYS_futex,        SYS_nanosleep, SYS_clock_nanosleep, SYS_wait4,        SYS_waitid,
    SYS_accept,       SYS_accept4,   SYS_rt_sigtimedwait, SYS_rt_sigsuspend};

// How long a sleep still lasts, at most; none: it is no sleep.
std::optional<base::Nanos> sleep_left(pid_t pid, const Call& call, base::Nanos now) {
  const auto& words = call.arguments;
  std::uint64_t address = 0;
  bool is_absolute = false;
  base::Nanos unit{1};
  if (call.number == SYS_clock_nanosleep) {
    is_absolute = (words[1] & TIMER_ABSTIME) != 0;
    if (is_absolute && words[0] != CLOCK_MONOTONIC) return std::nullopt;
    address = words[2];
  } else if (call.number == SYS_nanosleep) {
    address = words[0];
  } else if (call.number == SYS_pselect6 && words[0] == 0) {
    address = words[4];
#ifdef SYS_select
  } else if (call.number == SYS_select && words[0] == 0) {
    address = words[4];
    unit = std::chrono::microseconds(1);
#endif
  }
  if (address == 0) return std::nullopt;
  const auto time = memory_of<std::int64_t>(pid, address, 2);
  constexpr std::int64_t kSecondsMax = std::int64_t{1} << 32;
  constexpr std::int64_t kPartMax = 1'000'000'000;  // the worker's memory may hold anything
  if (time.empty() || time[0] < 0 || time[0] > kSecondsMax || time[1] < 0 || time[1] >= kPartMax) {
    return std::nullopt;
  }
  const base::Nanos until = std::chrono::seconds(time[0]) + time[1] * unit;
  return is_absolute ? until - now : until;
}

tracer::MainWait main_wait(pid_t pid, base::Nanos now) {
  const auto call = call_of(fmt::format("/proc/{0}/task/{0}", pid));
  if (!call) return tracer::MainWait::kOther;
  if (call->number == SYS_futex) {
    const std::uint64_t what = call->arguments[1] & FUTEX_CMD_MASK;
    const bool is_wait = what == FUTEX_WAIT || what == FUTEX_WAIT_BITSET;
    const bool has_limit = call->arguments[3] != 0;
    // What processes share may be freed by any of them.
    const bool is_own = (call->arguments[1] & FUTEX_PRIVATE_FLAG) != 0;
    return is_wait && is_own && !has_limit ? tracer::MainWait::kLock : tracer::MainWait::kOther;
  }
  const auto left = sleep_left(pid, *call, now);
  return left && *left >= kSleepLeftMin ? tracer::MainWait::kSleep : tracer::MainWait::kOther;
}

// "socket:[123]", "pipe:[45]", "/data/train.bin"; empty: unknown.
std::string descriptor_target(pid_t pid, std::uint64_t fd) {
  std::array<char, 16> target{};
  const std::string link = fmt::format("/proc/{}/fd/{}", pid, fd);
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  return {target.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

bool polls_sockets(pid_t pid, const Call& call) {
  const std::uint64_t count = call.arguments[1];
  if (count == 0) return false;
  if (count > kPolledMax) return true;
  const auto polled = memory_of<pollfd>(pid, call.arguments[0], count);
  return polled.empty() || std::ranges::any_of(polled, [&](const pollfd& each) {
           if (each.fd < 0) return false;
           const auto target = descriptor_target(pid, static_cast<std::uint64_t>(each.fd));
           return target.empty() || target.starts_with("socket:");
         });
}

bool is_idle_call(pid_t pid, const Call& call) {
  const auto is_one_of = [&](std::span<const long> numbers) {
    return std::ranges::find(numbers, call.number) != numbers.end();
  };
  if (is_one_of(kPollCalls)) return !polls_sockets(pid, call);
  if (call.number == SYS_read) {  // orders come through pipes; a file may be on slow storage
    const std::string target = descriptor_target(pid, call.arguments[0]);
    return target.starts_with("pipe:") || target.starts_with("anon_inode:");
  }
  return is_one_of(kIdleCalls);
}

}  // namespace

ThreadWaits thread_waits(std::span<const pid_t> tree, base::Nanos now) {
  ThreadWaits waits;
  if (tree.empty()) return waits;
  waits.main = main_wait(tree.front(), now);
  std::size_t seen = 0;
  for (const pid_t pid : tree) {
    const std::string threads = fmt::format("/proc/{}/task", pid);
    const Folder folder(::opendir(threads.c_str()));
    if (!folder) continue;  // it has ended
    while (const dirent* const entry = ::readdir(folder.get())) {
      const auto thread = base::parse_int<pid_t>(entry->d_name);
      if (!thread || *thread == tree.front()) continue;
      const auto call = call_of(fmt::format("{}/{}", threads, *thread));
      if (!call || !is_idle_call(pid, *call) || ++seen > kWaitingThreadsMax) return waits;
    }
  }
  waits.others_idle = true;
  return waits;
}

}  // namespace robustrun::agent
