#include "agent/oom.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "agent/cgroup.h"
#include "base/core/text.h"

namespace robustrun::agent {
namespace {

using wire::OomKiller;

constexpr std::size_t kCounterFileBytesMax = std::size_t{64} << 10;
constexpr std::size_t kRecordBytesMax = 8192;  // CONSOLE_EXT_LOG_MAX of the kernel
constexpr unsigned kRecordsMax = 8192;         // read at one worker's death
constexpr unsigned kGroupsAboveMax = 64;
constexpr std::string_view kInitialPidNamespace = "pid:[4026531836]";  // PROC_PID_INIT_INO

// Files of "NAME NUMBER" lines; with an empty name, of one number.
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

// The sum over a cgroup and all above it: the limit that was hit may be anybody's.
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

// A number that is not the beginning of a longer one.
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

OomWatch OomWatch::begin(const std::string& worker_cgroup, const OomSources& sources) {
  OomWatch watch;
  watch.worker_cgroup_ = worker_cgroup;
  watch.sources_ = sources;
  // The log has the pids of the initial namespace: elsewhere they mean others.
  if (in_initial_pid_namespace(sources.proc)) {
    watch.kernel_log_ = base::Fd(::open(sources.kmsg.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (watch.kernel_log_ && ::lseek(watch.kernel_log_.get(), 0, SEEK_END) < 0) {
      watch.kernel_log_.reset();
    }
  }
  watch.before_ = watch.read_counters();
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
    counters.group_kills = counter(place->folder + "/memory.events", "oom_kill");
    counters.limit_hits += sum_upwards(*place, "memory.events", "oom");
  }
  if (counters.group_kills) return counters;
  if (const auto place = own_cgroup("memory", sources_.proc)) {
    counters.group_kills = counter(place->folder + "/memory.oom_control", "oom_kill");
    counters.limit_hits += sum_upwards(*place, "memory.failcnt", "");
  }
  return counters;
}

std::optional<wire::OomKiller> OomWatch::named_in_kernel_log(pid_t pid) {
  if (!kernel_log_) return std::nullopt;
  std::array<char, kRecordBytesMax> buffer{};
  OomKiller found = OomKiller::kNo;
  // One read is one record; EPIPE: older ones were overwritten, and the next read goes on.
  for (unsigned i = 0; i < kRecordsMax && found == OomKiller::kNo; ++i) {
    const ssize_t size = ::read(kernel_log_.get(), buffer.data(), buffer.size());
    if (size < 0 && (errno == EPIPE || errno == EINTR)) continue;
    if (size <= 0) break;
    const std::string_view text(buffer.data(), static_cast<std::size_t>(size));
    for (const std::string_view line : base::split(text, '\n')) {
      found = std::max(found, oom_killer_in_record(line, pid));
    }
  }
  return found;
}

wire::OomKiller OomWatch::killed(pid_t pid) {
  const auto named = named_in_kernel_log(pid);
  if (named && *named != OomKiller::kNo) return *named;
  const Counters now = read_counters();
  const bool over_limit = now.limit_hits > before_.limit_hits;
  if (rose(before_.worker_kills, now.worker_kills)) {
    return over_limit ? OomKiller::kCgroup : OomKiller::kKernel;
  }
  if (rose(before_.group_kills, now.group_kills)) {
    return over_limit ? OomKiller::kCgroup : OomKiller::kUnknown;
  }
  if (!now.machine_kills) return now.group_kills ? OomKiller::kNo : OomKiller::kUnknown;
  if (!rose(before_.machine_kills, now.machine_kills) || now.group_kills) return OomKiller::kNo;
  return OomKiller::kUnknown;
}

}  // namespace robustrun::agent
