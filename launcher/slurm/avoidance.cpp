#include "launcher/slurm/avoidance.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/core/text.h"
#include "base/core/words.h"
#include "launcher/hosts/host_list.h"
#include "launcher/limits.h"
#include "launcher/slurm/fields.h"

namespace robustrun::launcher {
namespace {

using HostNames = std::set<std::string, std::less<>>;

constexpr std::size_t kSinfoColumns = 7;

std::string set_value(const SlurmFields& fields, std::string_view name) {
  const std::string_view value = fields.value(name);
  return value == "(null)" ? std::string() : std::string(value);
}

// kCorrupt: the names cannot be read. They must not be lost, since the list is written again.
base::Result<std::vector<std::string>> host_names(const SlurmFields& fields,
                                                  std::string_view field) {
  std::vector<std::string> found;
  const std::string list = set_value(fields, field);
  if (list.empty()) return found;
  auto hosts = expand_host_list(list);
  if (!hosts) {
    return base::fail(
        base::Errc::kCorrupt,
        fmt::format("cannot read {}={} of the job: {}", field,
                    base::printable(std::string_view(list).substr(0, 100)), hosts.error().what));
  }
  for (Host& host : *hosts) found.push_back(std::move(host.name));
  return found;
}

// sinfo marks special conditions of a node behind its state: '*' it does not respond, '$' a
// maintenance reservation, '@' and '^' a reboot. '~' and '#' mean that it is powered on for a job.
bool is_usable_state(std::string_view state) {
  constexpr std::array<std::string_view, 5> kUsable = {"idle", "mixed", "allocated", "completing",
                                                       "planned"};
  const std::size_t length = state.find_first_not_of("abcdefghijklmnopqrstuvwxyz");
  const std::string_view marks =
      length == std::string_view::npos ? std::string_view{} : state.substr(length);
  return std::ranges::find(kUsable, state.substr(0, length)) != kUsable.end() &&
         marks.find_first_of("*$@^!%") == std::string_view::npos;
}

bool is_like(const SlurmHost& host, const SlurmHost& model, const PendingJob& job) {
  return host.processors >= model.processors && host.memory_mb >= model.memory_mb &&
         (!job.asks_for_gres || host.gres == model.gres) &&
         (job.constraint.empty() || host.features == model.features);
}

// Hosts on which the job can start. Where none of `had` is known, all are taken to suit it.
std::vector<const SlurmHost*> usable_hosts(const PendingJob& job,
                                           const std::vector<SlurmHost>& hosts,
                                           const std::vector<std::string>& had) {
  const HostNames before(had.begin(), had.end());
  std::vector<const SlurmHost*> models;  // one of each kind
  for (const SlurmHost& host : hosts) {
    const bool is_known = std::ranges::any_of(models, [&](const SlurmHost* model) {
      return is_like(host, *model, job) && is_like(*model, host, job);
    });
    if (before.contains(host.name) && !is_known) models.push_back(&host);
  }
  std::vector<const SlurmHost*> found;
  for (const SlurmHost& host : hosts) {
    const bool suits = models.empty() || std::ranges::any_of(models, [&](const SlurmHost* model) {
                         return is_like(host, *model, job);
                       });
    if (host.is_usable && suits) found.push_back(&host);
  }
  return found;
}

// In the partition that has most: a job starts in one of its partitions.
std::uint32_t hosts_left(const PendingJob& job, const std::vector<const SlurmHost*>& usable,
                         const HostNames& excluded) {
  std::uint32_t most = 0;
  for (const std::string& partition : job.partitions) {
    const auto left = std::ranges::count_if(usable, [&](const SlurmHost* host) {
      return host->partition == partition && !excluded.contains(host->name);
    });
    most = std::max(most, static_cast<std::uint32_t>(left));
  }
  return most;
}

std::string named(const BlamedHost& host) { return fmt::format("{} ({})", host.name, host.why); }

}  // namespace

base::Result<PendingJob> read_pending_job(std::string_view shown) {
  const SlurmFields fields(shown);
  // "4", or "2-4"
  const std::string_view count = fields.value("NumNodes");
  const auto nodes = base::parse_int<std::uint32_t>(count.substr(0, count.find('-')));
  PendingJob job;
  for (const std::string_view name : base::split(fields.value("Partition"), ',')) {
    if (!name.empty()) job.partitions.emplace_back(name);
  }
  if (fields.value("JobId").empty() || !nodes || job.partitions.empty()) {
    return base::fail(base::Errc::kCorrupt, "scontrol shows no nodes or partition of the job");
  }
  job.nodes = *nodes;
  job.excluded = RR_TRY(host_names(fields, "ExcNodeList"));
  job.required = RR_TRY(host_names(fields, "ReqNodeList"));
  job.reservation = set_value(fields, "Reservation");
  job.constraint = set_value(fields, "Features");
  job.asks_for_gres = !set_value(fields, "TresPerNode").empty() ||
                      fields.value("TRES").find("gres/") != std::string_view::npos ||
                      fields.value("ReqTRES").find("gres/") != std::string_view::npos;
  return job;
}

std::vector<std::string> list_hosts_argv(const std::string& sinfo) {
  return {sinfo, "--all", "--Node", "--noheader", "--format=%N|%R|%T|%c|%m|%G|%f"};
}

std::vector<SlurmHost> read_slurm_hosts(std::string_view listed) {
  std::vector<SlurmHost> hosts;
  for (const std::string_view line : base::split(listed, '\n')) {
    const auto columns = base::split(base::trim(line), '|');
    if (columns.size() != kSinfoColumns || columns[0].empty()) continue;
    const auto processors = base::parse_int<std::uint64_t>(columns[3]);
    const auto memory = base::parse_int<std::uint64_t>(columns[4]);
    if (!processors || !memory) continue;
    hosts.push_back({std::string(columns[0]), std::string(columns[1]), is_usable_state(columns[2]),
                     *processors, *memory, std::string(columns[5]), std::string(columns[6])});
  }
  return hosts;
}

Avoidance choose_avoided(const PendingJob& job, const std::vector<SlurmHost>& hosts,
                         const std::vector<std::string>& had,
                         const std::vector<BlamedHost>& blamed) {
  const std::vector<const SlurmHost*> usable = usable_hosts(job, hosts, had);
  HostNames excluded(job.excluded.begin(), job.excluded.end());
  for (const BlamedHost& host : blamed) {
    if (host.by_this_run) excluded.erase(host.name);
  }
  Avoidance choice;
  std::vector<std::string> avoided;
  for (const BlamedHost& host : blamed) {
    if (excluded.contains(host.name)) continue;
    if (!job.reservation.empty()) {
      choice.words.push_back(
          fmt::format("{} may be used again: the job is bound to the reservation {}", named(host),
                      base::printable(job.reservation)));
      continue;
    }
    if (std::ranges::find(job.required, host.name) != job.required.end()) {
      choice.words.push_back(
          fmt::format("{} is used again: the job asks for it (--nodelist)", named(host)));
      continue;
    }
    const bool is_full = excluded.size() >= kExcludedHostsMax;
    if (!is_full) excluded.insert(host.name);
    const std::uint32_t left = hosts_left(job, usable, excluded);
    if (!is_full && left >= job.nodes) {
      avoided.push_back(named(host));
      continue;
    }
    if (!is_full) excluded.erase(host.name);
    choice.words.push_back(
        is_full ? fmt::format("{} may be used again: {} hosts are left out already", named(host),
                              excluded.size())
                : fmt::format("{} may be used again: without it the job would not start ({} {} "
                              "left, and it needs {})",
                              named(host), left, left == 1 ? "host is" : "hosts are", job.nodes));
  }
  if (!avoided.empty()) {
    choice.words.insert(choice.words.begin(), "the job leaves out " + base::join(avoided, ", "));
  }
  choice.excluded.assign(excluded.begin(), excluded.end());
  std::ranges::sort(choice.excluded, base::natural_less);
  return choice;
}

}  // namespace robustrun::launcher
