#include "cli/nodes/batch_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/core/text.h"
#include "cli/nodes/hosts.h"
#include "launcher/hosts/host_list.h"

namespace robustrun::cli {
namespace {

using base::fail;
using base::Result;
using launcher::Host;

struct Source {
  std::string_view system;
  std::string_view job;    // variable that is set within a job
  std::string_view hosts;  // variable that names the hosts, or a file of them
  bool is_file = true;
  // Names on a line, or in the variable: the first of every `stride` words.
  std::size_t stride = 0;  // 0: of the line
};

constexpr std::array kSources = {
    Source{"PBS", "PBS_JOBID", "PBS_NODEFILE"},
    Source{"Grid Engine", "JOB_ID", "PE_HOSTFILE"},
    Source{"LSF", "LSB_JOBID", "LSB_DJOB_HOSTFILE"},
    Source{"LSF", "LSB_JOBID", "LSB_MCPU_HOSTS", false, 2},
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

}  // namespace

Result<BatchHosts> plan_batch_hosts(const Settings& settings, const Surroundings& around) {
  BatchHosts job;
  const std::string launcher = settings.text(OptionId::kLauncher);
  const bool is_open = leaves_hosts_open(settings) && (launcher == "auto" || launcher == "ssh");
  if (!is_open || is_task_of_many(around)) return job;
  const Source* found = nullptr;
  for (const Source& source : kSources) {
    if (!is_set(around, source.job) || !is_set(around, source.hosts)) continue;
    if (found == nullptr) {
      found = &source;
    } else if (source.system != found->system && job.ignored.empty()) {
      job.ignored = source.system;
    }
  }
  if (found == nullptr) return job;
  job.system = found->system;
  const std::string value = around.variable(found->hosts).value_or("");
  job.source = fmt::format("{}={}", found->hosts, base::printable(value));
  const auto text = found->is_file ? around.machine->read_file(value) : Result<std::string>(value);
  auto hosts =
      text ? hosts_in(*text, *found) : Result<std::vector<Host>>(std::unexpect, text.error());
  if (!hosts) {
    return fail(hosts.error().code,
                fmt::format("cannot use {} of this {} job: {}; name the hosts with --hosts, or use "
                            "this machine alone with --standalone",
                            job.source, job.system, hosts.error().what));
  }
  // The batch script runs on the first host, so a single one is this machine, under any name.
  if (hosts->size() > 1) job.hosts = *std::move(hosts);
  return job;
}

}  // namespace robustrun::cli
