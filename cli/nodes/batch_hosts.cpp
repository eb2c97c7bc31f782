#include "cli/nodes/batch_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/core/text.h"
#include "cli/nodes/hosts.h"
#include "cli/options/values.h"
#include "launcher/hosts/host_list.h"

namespace robustrun::cli {
namespace {

using base::fail;
using base::Result;
using launcher::BatchSystem;
using launcher::Host;

struct Source {
  BatchSystem system;
  std::string_view option;  // of --allocation
  std::string_view job;    // variable that is set within a job
  std::string_view hosts;  // variable that names the hosts, or a file of them
  bool is_file = true;
  // Names on a line, or in the variable: the first of every `stride` words.
  std::size_t stride = 0;  // 0: of the line
};

constexpr std::array kSources = {
    Source{BatchSystem::kPbs, "pbs", "PBS_JOBID", "PBS_NODEFILE"},
    Source{BatchSystem::kGridEngine, "sge", "JOB_ID", "PE_HOSTFILE"},
    Source{BatchSystem::kLsf, "lsf", "LSB_JOBID", "LSB_DJOB_HOSTFILE"},
    Source{BatchSystem::kLsf, "lsf", "LSB_JOBID", "LSB_MCPU_HOSTS", false, 2},
};

// More than 1 in a task of a parallel start: by Open MPI, by MPICH and its like, by pbsdsh.
constexpr std::array<std::string_view, 3> kTaskNumbers = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                                          "PBS_TASKNUM"};

bool is_set(const Surroundings& around, std::string_view name) {
  return !around.variable(name).value_or("").empty();
}

bool is_task_of_many(const Surroundings& around) {
  return std::ranges::any_of(kTaskNumbers, [&](std::string_view name) {
    const auto number = base::parse_int<std::uint32_t>(around.variable(name).value_or(""));
    return number && *number > 1;
  });
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t\r", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t\r", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

// The names as they are listed, with repetitions.
std::vector<std::string_view> names_in(std::string_view text, const Source& source) {
  std::vector<std::string_view> names;
  for (const std::string_view line : base::split(text, '\n')) {
    const auto words = words_of(line);
    for (std::size_t i = 0; i < words.size(); i += source.stride) {
      names.push_back(words[i]);
      if (source.stride == 0) break;
    }
  }
  return names;
}

Result<std::vector<Host>> hosts_in(std::string_view text, const Source& source) {
  std::vector<Host> hosts;
  for (const std::string_view name : names_in(text, source)) {
    const auto is_known = [&](const Host& host) { return host.name == name; };
    if (std::ranges::any_of(hosts, is_known)) continue;
    auto host = RR_TRY(launcher::parse_host_list(name));
    hosts.insert(hosts.end(), host.begin(), host.end());
  }
  if (hosts.empty()) return fail(base::Errc::kInvalidArgument, "no host is named in it");
  return hosts;
}

bool is_in(const Source& source, const Surroundings& around) {
  return is_set(around, source.job) && is_set(around, source.hosts);
}

launcher::BatchJob job_of(const Source& source, const Surroundings& around) {
  launcher::BatchJob job;
  job.system = source.system;
  job.id = around.variable(source.job).value_or("");
  // PBS_JOBID has the task in it; a job that is no array has no such number.
  const auto task_of = [&](const char* name) {
    const auto number = base::parse_int<std::uint64_t>(around.variable(name).value_or(""));
    return number.value_or(0);
  };
  if (source.system == BatchSystem::kGridEngine && task_of("SGE_TASK_ID") > 0) {
    job.id += fmt::format(".{}", task_of("SGE_TASK_ID"));
  }
  if (source.system == BatchSystem::kLsf && task_of("LSB_JOBINDEX") > 0) {
    job.id += fmt::format("[{}]", task_of("LSB_JOBINDEX"));
  }
  const auto shows = around.machine->find_executable(
      std::string(launcher::show_program(source.system)), around.variable("PATH").value_or(""));
  if (shows) job.commands = shows->substr(0, shows->rfind('/'));
  return job;
}

}  // namespace

launcher::BatchJob batch_job_of(const Surroundings& around) {
  const auto found =
      std::ranges::find_if(kSources, [&](const Source& each) { return is_in(each, around); });
  return found == kSources.end() ? launcher::BatchJob{} : job_of(*found, around);
}

Result<BatchHosts> plan_batch_hosts(const Settings& settings, const Surroundings& around) {
  BatchHosts job;
  const std::string asked = settings.text(OptionId::kAllocation);
  const std::string launcher = settings.text(OptionId::kLauncher);
  const bool is_open = leaves_hosts_open(settings) && (launcher == "auto" || launcher == "ssh");
  if (!is_open || is_task_of_many(around)) return job;
  const Source* found = nullptr;
  for (const Source& source : kSources) {
    const bool is_meant = asked == "auto" || asked == source.option;
    if (!is_meant || !is_in(source, around)) continue;
    if (found == nullptr) {
      found = &source;
    } else if (source.system != found->system && job.ignored.empty()) {
      job.ignored = to_string(source.system);
    }
  }
  if (found == nullptr) {
    const auto named = std::ranges::find(kSources, asked, &Source::option);
    if (named == kSources.end()) return job;
    return cannot_use(settings, OptionId::kAllocation,
                      fmt::format("this is no job of {} with a list of hosts ({} and {} are not "
                                  "set)",
                                  to_string(named->system), named->job, named->hosts));
  }
  job.job = job_of(*found, around);
  const std::string_view system = to_string(found->system);
  const std::string value = around.variable(found->hosts).value_or("");
  job.source = fmt::format("{}={}", found->hosts, base::printable(value));
  const auto text = found->is_file ? around.machine->read_file(value) : Result<std::string>(value);
  auto hosts =
      text ? hosts_in(*text, *found) : Result<std::vector<Host>>(std::unexpect, text.error());
  if (!hosts) {
    return fail(hosts.error().code,
                fmt::format("cannot use {} of this {} job: {}; name the hosts with --hosts, or use "
                            "this machine alone with --standalone",
                            job.source, system, hosts.error().what));
  }
  // The batch script runs on the first host, so a single one is this machine, under any name.
  if (hosts->size() > 1) job.hosts = *std::move(hosts);
  if (job.job.commands.empty()) {
    job.warning = fmt::format(
        "{} is not on PATH, so the end of {} job {} is not known, and no save "
        "precedes it; add its folder to PATH",
        launcher::show_program(found->system), system, job.job.id);
  }
  return job;
}

}  // namespace robustrun::cli
