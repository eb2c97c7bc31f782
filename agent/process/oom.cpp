#include "agent/process/oom.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <deque>
#include <set>
#include <string_view>
#include <utility>

#include "agent/process/cgroup.h"
#include "base/core/text.h"
#include "base/io/fd.h"

namespace robustrun::agent {
namespace {

using wire::OomKiller;

constexpr std::size_t kCounterFileBytesMax = std::size_t{64} << 10;
constexpr std::size_t kRecordBytesMax = 8192;  // CONSOLE_EXT_LOG_MAX of the kernel
constexpr unsigned kRecordsMax = 8192;         // read when one worker has died
constexpr std::size_t kKillLinesMax = 1024;    // lines of the kernel's log that are kept
constexpr unsigned kGroupsAboveMax = 64;
constexpr unsigned kAncestorsMax = 256;
constexpr std::size_t kMembersMax = 4096;  // of our cgroup; with more it counts as shared
constexpr std::size_t kChildrenMax = 64;
constexpr std::string_view kInitialPidNamespace = "pid:[4026531836]";  // PROC_PID_INIT_INO

// Parses files of "NAME NUMBER" lines; with an empty name, of one number.
std::optional<std::uint64_t> counter(const std::string& path, std::string_view name) {
  const auto text = base::read_file(path, kCounterFileBytesMax);
  if (!text) return std::nullopt;
  for (std::string_view line : base::split(*text, '\n')) {
    if (!name.empty()) {
      if (!line.starts_with(name) || line.substr(name.size(), 1) != " ") continue;
      line.remove_prefix(name.size() + 1);
    }
    if (const auto value = base::parse_int<std::uint64_t>(base::trim(line))) return *value;
  }
  return std::nullopt;
}

// The sum over a cgroup and all above it: any of their limits may have been hit.
std::uint64_t sum_upwards(const CgroupPlace& place, const char* file, std::string_view name) {
  std::uint64_t sum = 0;
  std::string folder = place.folder;
  for (unsigned i = 0; i < kGroupsAboveMax && folder.size() >= place.mount.size(); ++i) {
    sum += counter(folder + "/" + file, name).value_or(0);
    const std::size_t slash = folder.rfind('/');
    if (slash == std::string::npos) break;
    folder.resize(slash);
  }
  return sum;
}

bool rose(const std::optional<std::uint64_t>& before, const std::optional<std::uint64_t>& after) {
  return after && *after > before.value_or(0);
}

// A whole number, not the beginning of a longer one.
bool names(std::string_view record, std::string_view label, const std::string& pid) {
  const std::string text = std::string(label) + pid;
  for (std::size_t at = record.find(text); at != record.npos; at = record.find(text, at + 1)) {
    const std::size_t end = at + text.size();
    if (end == record.size() || record[end] < '0' || record[end] > '9') return true;
  }
  return false;
}

bool in_initial_pid_namespace(const std::string& proc) {
  std::array<char, 64> target{};
  const ssize_t size = ::readlink((proc + "/self/ns/pid").c_str(), target.data(), target.size());
  return size > 0 &&
         std::string_view(target.data(), static_cast<std::size_t>(size)) == kInitialPidNamespace;
}

struct Family {
  pid_t parent = 0;
  pid_t process_group = 0;
};

// "PID (NAME) STATE PPID PGRP …"; a name may contain anything.
std::optional<Family> family_of(const std::string& proc, pid_t pid) {
  const auto text = base::read_file(proc + "/" + std::to_string(pid) + "/stat", 4096);
  if (!text) return std::nullopt;
  const std::size_t end = text->rfind(") ");
  if (end == text->npos) return std::nullopt;
  const auto words = base::split(std::string_view(*text).substr(end + 2), ' ');
  if (words.size() < 3) return std::nullopt;
  const auto parent = base::parse_int<pid_t>(words[1]);
  const auto process_group = base::parse_int<pid_t>(words[2]);
  if (!parent || !process_group) return std::nullopt;
  return Family{*parent, *process_group};
}

// True if this cgroup contains only us, the processes that started us or were started with us (a
// shell, a pipe to tee), and the processes that we started.
bool is_ours_alone(const std::string& folder, const std::string& proc) {
  const auto text = base::read_file(folder + "/cgroup.procs", kCounterFileBytesMax);
  if (!text) return false;
  std::set<pid_t> above, process_groups;
  pid_t pid = ::getpid();
  for (unsigned i = 0; i < kAncestorsMax && pid > 0 && above.insert(pid).second; ++i) {
    const auto family = family_of(proc, pid);
    if (!family) break;
    if (family->process_group > 0) process_groups.insert(family->process_group);
    pid = family->parent;
  }
  const auto is_ours = [&](pid_t member) {
    if (above.contains(member)) return true;
    for (unsigned i = 0; i < kAncestorsMax && member > 1; ++i) {
      const auto family = family_of(proc, member);
      if (!family) return true;  // it has ended since the list was read
      if (process_groups.contains(family->process_group)) return true;
      member = family->parent;
      if (member == ::getpid()) return true;
    }
    return false;
  };
  std::size_t members = 0;
  for (const std::string_view line : base::split(*text, '\n')) {
    const auto member = base::parse_int<pid_t>(base::trim(line));
    if (!member || *member <= 0) continue;  // 0: of another pid namespace, which is not ours
    if (++members > kMembersMax || !is_ours(*member)) return false;
  }
  return members > 0;
}

}  // namespace

wire::OomKiller oom_killer_in_record(std::string_view record, pid_t pid) {
  const std::string number = std::to_string(pid);
  // Since 5.0: oom-kill:constraint=CONSTRAINT_MEMCG,…,task=python3,pid=4711,uid=0
  if (record.find("oom-kill:constraint=") != record.npos && names(record, ",pid=", number)) {
    return record.find("CONSTRAINT_MEMCG") != record.npos ? OomKiller::kCgroup : OomKiller::kKernel;
  }
  // "Killed process 4711 (python3)" and, before 5.0, "Kill process 4711 (python3) score 900".
  if (!names(record, "Killed process ", number) && !names(record, "Kill process ", number)) {
    return OomKiller::kNo;
  }
  if (record.find("Memory cgroup out of memory") != record.npos) return OomKiller::kCgroup;
  if (record.find("Out of memory") != record.npos) return OomKiller::kKernel;
  return OomKiller::kNo;
}

// What the kernel's log says about OOM killers, read once for all workers: one descriptor per
// worker would be too many under a low limit.
class OomWatch::KernelLog {
 public:
  explicit KernelLog(base::Fd file) : file_(std::move(file)) {}

  // Null: the log cannot be read.
  static std::shared_ptr<KernelLog> open(const std::string& path) {
    static std::weak_ptr<KernelLog> newest;
    static std::string newest_path;
    if (auto log = newest.lock(); log && newest_path == path) return log;
    base::Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!file || ::lseek(file.get(), 0, SEEK_END) < 0) return nullptr;
    auto log = std::make_shared<KernelLog>(std::move(file));
    newest = log;
    newest_path = path;
    return log;
  }

  // Kills so far.
  std::uint64_t read() {
    std::array<char, kRecordBytesMax> buffer{};
    // One read gives one record; EPIPE: older ones were overwritten, and the next read continues.
    for (unsigned i = 0;; ++i) {
      const ssize_t size = ::read(file_.get(), buffer.data(), buffer.size());
      const bool is_cut = (size < 0 && errno == EPIPE) || i == kRecordsMax;
      if (is_cut) ++gaps_;
      if (i == kRecordsMax) break;
      if (size < 0 && (errno == EPIPE || errno == EINTR)) continue;
      if (size <= 0) break;
      const std::string_view text(buffer.data(), static_cast<std::size_t>(size));
      for (const std::string_view line : base::split(text, '\n')) {
        if (!may_name_victim(line)) continue;
        if (lines_.size() == kKillLinesMax) lines_.pop_front();
        lines_.emplace_back(line);
        ++count_;
      }
    }
    return count_;
  }

  // How often records were missed so far.
  [[nodiscard]] std::uint64_t gaps() const { return gaps_; }

  // Whether a line after the first `before` names `pid`.
  [[nodiscard]] OomKiller killer_of(pid_t pid, std::uint64_t before) const {
    OomKiller found = OomKiller::kNo;
    const std::uint64_t dropped = count_ - lines_.size();
    for (std::size_t i = before > dropped ? before - dropped : 0; i < lines_.size(); ++i) {
      found = std::max(found, oom_killer_in_record(lines_[i], pid));
    }
    return found;
  }

 private:
  static bool may_name_victim(std::string_view line) {
    return line.find("oom-kill:") != line.npos || line.find("ill process ") != line.npos ||
           line.find("illed process ") != line.npos;
  }

  const base::Fd file_;
  std::deque<std::string> lines_;  // the newest that name a killed process
  std::uint64_t count_ = 0;  // of all such lines
  std::uint64_t gaps_ = 0;
};

OomWatch OomWatch::begin(const std::string& worker_cgroup, const OomSources& sources) {
  OomWatch watch;
  watch.worker_cgroup_ = worker_cgroup;
  watch.sources_ = sources;
  // The log has pids of the initial namespace; in another one they mean other processes.
  if (in_initial_pid_namespace(sources.proc)) watch.kernel_log_ = KernelLog::open(sources.kmsg);
  if (watch.kernel_log_) {
    watch.kills_before_ = watch.kernel_log_->read();
    watch.gaps_before_ = watch.kernel_log_->gaps();
  }
  watch.before_ = watch.read_counters();
  const bool is_asked = !watch.before_.worker_kills && watch.before_.group_kills;
  watch.was_alone_ = is_asked && is_ours_alone(watch.before_.group, sources.proc);
  return watch;
}

OomWatch::Counters OomWatch::read_counters() const {
  Counters counters;
  counters.machine_kills = counter(sources_.proc + "/vmstat", "oom_kill");
  if (!worker_cgroup_.empty()) {
    counters.worker_kills = counter(worker_cgroup_ + "/memory.events", "oom_kill");
    counters.limit_hits += counter(worker_cgroup_ + "/memory.events", "oom").value_or(0);
  }
  if (const auto place = own_cgroup("", sources_.proc)) {
    // Not kills in cgroups below ours, which hit another run or another worker.
    counters.group_kills = counter(place->folder + "/memory.events.local", "oom_kill");
    if (!counters.group_kills) {
      counters.group_kills = counter(place->folder + "/memory.events", "oom_kill");
    }
    counters.group = place->folder;
    counters.limit_hits += sum_upwards(*place, "memory.events", "oom");
  }
  if (counters.group_kills) return counters;
  if (const auto place = own_cgroup("memory", sources_.proc)) {
    counters.group_kills = counter(place->folder + "/memory.oom_control", "oom_kill");
    counters.group = place->folder;
    counters.limit_hits += sum_upwards(*place, "memory.failcnt", "");
  }
  return counters;
}

// nullopt: the log cannot be read, or not all of it since the worker began.
std::optional<wire::OomKiller> OomWatch::named_in_kernel_log(const std::vector<pid_t>& pids) {
  if (!kernel_log_ || pids.empty()) return std::nullopt;
  kernel_log_->read();
  OomKiller found = OomKiller::kNo;
  for (const pid_t pid : pids) {
    found = std::max(found, kernel_log_->killer_of(pid, kills_before_));
  }
  const bool is_whole = kernel_log_->gaps() == gaps_before_;
  if (found == OomKiller::kNo && !is_whole) return std::nullopt;
  return found;
}

wire::OomKiller OomWatch::killed(const std::vector<pid_t>& pids) {
  if (const auto named = named_in_kernel_log(pids)) return *named;
  const Counters now = read_counters();
  const bool over_limit = now.limit_hits > before_.limit_hits;
  const OomKiller killer = over_limit ? OomKiller::kCgroup : OomKiller::kKernel;
  if (now.worker_kills) {
    return rose(before_.worker_kills, now.worker_kills) ? killer : OomKiller::kNo;
  }
  if (now.group_kills) {
    if (!rose(before_.group_kills, now.group_kills)) return OomKiller::kNo;
    return was_alone_ && is_ours_alone(now.group, sources_.proc) ? killer : OomKiller::kUnknown;
  }
  if (!now.machine_kills) return OomKiller::kUnknown;
  return rose(before_.machine_kills, now.machine_kills) ? OomKiller::kUnknown : OomKiller::kNo;
}

std::optional<std::vector<pid_t>> killed_children(std::string_view words) {
  // torch/utils/data/dataloader.py and _utils/signal_handling; concurrent/futures/process.py.
  constexpr std::string_view kLoader = "DataLoader worker (pid";
  constexpr std::string_view kPool = "terminated abruptly";
  bool is_reported = words.find(kPool) != words.npos;
  std::vector<pid_t> pids;
  for (std::size_t at = words.find(kLoader); at != words.npos; at = words.find(kLoader, at + 1)) {
    is_reported = true;
    const std::size_t from = at + kLoader.size();
    const std::size_t end =
        std::min(words.find_first_of(")\n", words.find_first_of(" \n", from)), words.size());
    // "(pid 4711)", "(pid(s) 4711, 4712)"
    for (std::string_view word : base::split(words.substr(from, end - from), ' ')) {
      pid_t pid = 0;
      std::from_chars(word.data(), word.data() + word.size(), pid);
      if (pid > 0 && pids.size() < kChildrenMax) pids.push_back(pid);
    }
  }
  return is_reported ? std::optional(std::move(pids)) : std::nullopt;
}

}  // namespace robustrun::agent
