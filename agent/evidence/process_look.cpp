#include "agent/evidence/process_look.h"

#include <dirent.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>

#include "agent/node/folder.h"
#include "agent/node/limits.h"
#include "agent/process/cgroup.h"
#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

// Fields of /proc/PID/stat after the name; the first of them is the state (field 3).
struct Stat {
  char state = '?';
  pid_t parent = 0;
  std::uint64_t ticks = 0;  // in user and system mode, including reaped children
  std::uint64_t start = 0;
  std::uint64_t pages = 0;  // resident
};

std::optional<Stat> read_stat(const std::string& folder) {
  constexpr std::size_t kState = 0, kParent = 1, kUserTime = 11, kChildrenSystemTime = 14,
                        kStart = 19, kResident = 21;
  const auto text = base::read_file(folder + "/stat", kProcStatusBytesMax);
  if (!text) return std::nullopt;
  const std::size_t name_end = text->rfind(") ");
  if (name_end == text->npos) return std::nullopt;
  const auto fields = base::split(std::string_view(*text).substr(name_end + 2), ' ');
  if (fields.size() <= kResident || fields[kState].empty()) return std::nullopt;
  Stat stat;
  stat.state = fields[kState].front();
  stat.parent = base::parse_int<pid_t>(fields[kParent]).value_or(0);
  stat.start = base::parse_int<std::uint64_t>(fields[kStart]).value_or(0);
  stat.pages = base::parse_int<std::uint64_t>(fields[kResident]).value_or(0);
  for (std::size_t i = kUserTime; i <= kChildrenSystemTime; ++i) {
    stat.ticks += base::parse_int<std::uint64_t>(fields[i]).value_or(0);
  }
  return stat;
}

// All processes of the machine: not every kernel lists a process's children.
std::map<pid_t, Stat> read_all(const std::string& proc) {
  std::map<pid_t, Stat> all;
  const Folder folder(::opendir(proc.c_str()));
  if (!folder) return all;
  while (const dirent* const entry = ::readdir(folder.get())) {
    const auto pid = base::parse_int<pid_t>(entry->d_name);
    if (!pid || all.size() == kProcessesMax) continue;
    if (const auto stat = read_stat(fmt::format("{}/{}", proc, *pid))) all.emplace(*pid, *stat);
  }
  return all;
}

std::vector<pid_t> tree_of(pid_t top, const std::map<pid_t, Stat>& all) {
  std::multimap<pid_t, pid_t> children;
  for (const auto& [pid, stat] : all) children.emplace(stat.parent, pid);
  std::vector<pid_t> tree{top};
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const auto [begin, end] = children.equal_range(tree[i]);
    for (auto it = begin; it != end && tree.size() <= kDescendantsMax; ++it) {
      if (it->second != it->first) tree.push_back(it->second);
    }
  }
  return tree;
}

// A thread that reads data ahead waits for storage while the main one waits for it.
std::uint32_t other_threads_blocked(pid_t pid, const std::string& proc) {
  const std::string threads = fmt::format("{}/{}/task", proc, pid);
  const Folder folder(::opendir(threads.c_str()));
  std::uint32_t blocked = 0;
  std::size_t looked_at = 0;
  while (const dirent* const entry = folder ? ::readdir(folder.get()) : nullptr) {
    const auto thread = base::parse_int<pid_t>(entry->d_name);
    if (!thread || *thread == pid) continue;
    if (++looked_at > kWaitingThreadsMax) break;
    const auto stat = read_stat(fmt::format("{}/{}", threads, *thread));
    if (stat && stat->state == 'D') ++blocked;
  }
  return blocked;
}

// The number after `name` at the beginning of a line.
std::uint64_t number_after(std::string_view text, std::string_view name) {
  for (const std::string_view line : base::split(text, '\n')) {
    if (!line.starts_with(name)) continue;
    return base::parse_int<std::uint64_t>(base::trim(line.substr(name.size()))).value_or(0);
  }
  return 0;
}

// Bytes through system calls or, if that is more, between memory and disks: mapped files are read
// without calls.
std::uint64_t io_of(const std::string& folder) {
  const auto text = base::read_file(folder + "/io", kProcStatusBytesMax);
  if (!text) return 0;
  return std::max(number_after(*text, "rchar:"), number_after(*text, "read_bytes:")) +
         std::max(number_after(*text, "wchar:"), number_after(*text, "write_bytes:"));
}

// Second number of schedstat (sched-stats in the kernel's documentation): time waiting on a run
// queue, in nanoseconds.
base::Nanos cpu_delay_of(const std::string& folder) {
  const auto text = base::read_file(folder + "/schedstat", kProcStatusBytesMax);
  if (!text) return {};
  const auto fields = base::split(base::trim(*text), ' ');
  return base::Nanos(fields.size() < 2 ? 0 : base::parse_int<std::int64_t>(fields[1]).value_or(0));
}

// "some avg10=12.34 avg60=…"; nullopt when the kernel does not measure it.
std::optional<double> pressure_in(const std::string& path) {
  const auto text = base::read_file(path, kProcStatusBytesMax);
  constexpr std::string_view kSome = "some avg10=";
  if (!text || !text->starts_with(kSome)) return std::nullopt;
  double value = 0;
  const char* const end = text->data() + text->size();
  const auto parsed = std::from_chars(text->data() + kSome.size(), end, value);
  constexpr double kPercentMax = 100;
  if (parsed.ec != std::errc{} || !(value >= 0)) return std::nullopt;
  return std::min(value, kPercentMax);
}

double pressure_of(const std::string& cgroup, const char* resource, const std::string& proc) {
  const auto own =
      cgroup.empty() ? std::nullopt : pressure_in(fmt::format("{}/{}.pressure", cgroup, resource));
  if (own) return *own;
  return pressure_in(fmt::format("{}/pressure/{}", proc, resource)).value_or(0);
}

// Version 2 reports it in cgroup.events, version 1 in its freezer; the kernel functions in which
// frozen processes wait are known as well.
bool is_frozen(const std::string& cgroup, pid_t pid, const std::string& proc,
               std::string_view wait_channel) {
  if (wait_channel == "do_freezer_trap" || wait_channel == "__refrigerator") return true;
  if (!cgroup.empty()) {
    const auto events = base::read_file(cgroup + "/cgroup.events", kProcStatusBytesMax);
    if (events && number_after(*events, "frozen ") != 0) return true;
  }
  const auto freezer = cgroup_of(std::to_string(pid), "freezer", proc);
  const auto state = freezer
                         ? base::read_file(freezer->folder + "/freezer.state", kProcStatusBytesMax)
                         : base::fail(base::Errc::kNotFound, "");
  return state && base::trim(*state) == "FROZEN";
}

std::string wait_channel_of(const std::string& folder) {
  const auto text = base::read_file(folder + "/wchan", kProcStatusBytesMax);
  const std::string_view name = text ? base::trim(*text) : std::string_view();
  return name == "0" ? std::string() : std::string(name.substr(0, kWaitChannelBytesMax));
}

}  // namespace

base::Result<ProcessLook> look_at_process(pid_t pid, const std::string& cgroup,
                                          const std::string& root) {
  const std::string proc = root + "/proc";
  const auto all = read_all(proc);
  const auto worker = all.find(pid);
  if (worker == all.end()) return base::fail(base::Errc::kNotFound, "the worker is gone");
  ProcessLook look;
  look.start_ticks = worker->second.start;
  look.tree = tree_of(pid, all);
  const auto page_bytes = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 1L));
  for (const pid_t each : look.tree) {
    const Stat& stat = all.at(each);
    look.cpu_ticks += stat.ticks;
    look.state.memory_bytes += stat.pages * page_bytes;
    const std::string folder = fmt::format("{}/{}", proc, each);
    look.io_bytes += io_of(folder);
    look.cpu_delay += cpu_delay_of(folder);
    if (each != pid && stat.state == 'D') ++look.state.children_blocked;
  }
  look.state.children = static_cast<std::uint32_t>(look.tree.size() - 1);
  look.state.threads_blocked = other_threads_blocked(pid, proc);
  look.state.state = worker->second.state;
  look.state.wait_channel = wait_channel_of(fmt::format("{}/{}", proc, pid));
  std::string group = cgroup;
  if (group.empty()) {
    if (auto place = cgroup_of(std::to_string(pid), "", proc)) group = std::move(place->folder);
  }
  look.state.frozen = is_frozen(group, pid, proc, look.state.wait_channel);
  look.state.io_pressure = pressure_of(group, "io", proc);
  look.state.memory_pressure = pressure_of(group, "memory", proc);
  return look;
}

base::Nanos ticks_to_time(std::uint64_t ticks) {
  const auto per_second = static_cast<std::uint64_t>(std::max(::sysconf(_SC_CLK_TCK), 1L));
  const std::uint64_t whole = ticks / per_second;
  constexpr std::uint64_t kSecondsMax = std::uint64_t{1} << 33;  // fits into Nanos
  if (whole >= kSecondsMax) return base::Nanos::max();
  const auto rest = static_cast<std::int64_t>(ticks % per_second * 1'000'000'000 / per_second);
  return std::chrono::seconds(whole) + base::Nanos(rest);
}

base::Result<tracer::ProcessState> compare_looks(const ProcessLook& first,
                                                 const ProcessLook& second, base::Nanos watched) {
  if (first.start_ticks != second.start_ticks) {
    return base::fail(base::Errc::kNotFound, "the worker is gone");
  }
  tracer::ProcessState state = second.state;
  state.watched = watched;
  // A sleeping process wakes for a moment when it is signalled to show its stacks.
  const bool slept = first.state.state == "S" || first.state.state == "D";
  if (state.state == "R" && slept) {
    state.state = first.state.state;
    state.wait_channel = first.state.wait_channel;
  }
  // Less than before: an orphan took its share along.
  const auto rise = [](std::uint64_t from, std::uint64_t to) { return to > from ? to - from : 0; };
  state.cpu = ticks_to_time(rise(first.cpu_ticks, second.cpu_ticks));
  state.cpu_delay = std::max(second.cpu_delay - first.cpu_delay, base::Nanos{});
  state.io_bytes = rise(first.io_bytes, second.io_bytes);
  return state;
}

SignalState signal_state(pid_t pid, int signal) {
  const auto status = base::read_file(fmt::format("/proc/{}/status", pid), kProcStatusBytesMax);
  const auto has = [&](std::string_view name) {
    const std::size_t at = status ? status->find(name) : std::string::npos;
    if (at == std::string::npos) return false;
    std::uint64_t mask = 0;
    const char* const end = status->data() + status->size();
    std::from_chars(status->data() + at + name.size(), end, mask, 16);
    return (mask >> (signal - 1) & 1) != 0;
  };
  const auto is_in = [&](std::string_view letter) {
    return status && status->find(fmt::format("\nState:\t{} ", letter)) != std::string::npos;
  };
  return {has("\nSigCgt:\t"), has("\nShdPnd:\t") || has("\nSigPnd:\t"), is_in("T") || is_in("t")};
}

}  // namespace robustrun::agent
