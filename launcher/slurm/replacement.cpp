#include "launcher/slurm/replacement.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include "base/core/text.h"
#include "base/io/tool.h"
#include "launcher/limits.h"
#include "launcher/own_environment.h"
#include "launcher/slurm/fields.h"
#include "launcher/slurm/job_end.h"
#include "topo/read/scontrol.h"

namespace robustrun::launcher {
namespace {

// Names are lists for squeue, so only plain characters are kept.
std::string job_name(const SlurmOptions& options) {
  std::string run;
  for (const unsigned char c : options.run_id) {
    run += std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' ? static_cast<char>(c) : '_';
  }
  return fmt::format("replace-{}-{}", options.job, run);
}

std::string quoted(std::string_view word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

constexpr std::string_view kExclude = "--exclude=";

// The hosts that the user leaves out, and the bad ones.
std::string excluded(const SlurmOptions& options, const std::vector<std::string>& bad) {
  std::vector<std::string> lists;
  for (const std::string& word : options.replacement) {
    if (word.starts_with(kExclude)) lists.push_back(word.substr(kExclude.size()));
  }
  lists.insert(lists.end(), bad.begin(), bad.end());
  return base::join(lists, ",");
}

// The output of a tool that succeeded. The error names the tool.
base::Result<std::string> call(std::vector<std::string> argv, std::string_view tool,
                               std::string_view input = {}) {
  const auto done = RR_TRY(base::run_tool(argv, kSlurmCommandWait, input));
  if (done.status.success()) return done.out;
  std::string said = base::printable(base::trim(done.err).substr(0, kSlurmReasonBytesMax));
  return base::fail(base::Errc::kUnavailable,
                    fmt::format("{} ended with {}: {}", tool, base::describe(done.status), said));
}

// The time that the run's job has left; 0: it has no limit.
base::Result<std::int64_t> minutes_left(const SlurmOptions& options) {
  const auto end = RR_TRY(ask_job_end(options));
  if (!end) return 0;
  const auto left =
      std::chrono::floor<std::chrono::minutes>(*end - base::SystemClock().wall_time());
  if (left >= kReplacementTimeMin) return left.count();
  return base::fail(
      base::Errc::kUnavailable,
      fmt::format("job {} ends within {} minutes", options.job, kReplacementTimeMin.count()));
}

// Without a topology, or without idle hosts near by, no host is named.
std::vector<std::string> hosts_to_ask_for(const SlurmOptions& options,
                                          const ReplacementOrder& order) {
  const auto topology = call({options.commands + "/scontrol", "show", "topology"}, "scontrol");
  if (!topology || base::trim(*topology).empty()) return {};
  const auto idle =
      call({options.commands + "/sinfo", "--noheader", "--Node", "--states=idle", "--format=%N"},
           "sinfo");
  return idle ? near_hosts(*topology, *idle, order) : std::vector<std::string>();
}

base::Result<std::string> queue_one(const SlurmOptions& options, const ReplacementOrder& order,
                                    std::int64_t minutes, const std::string& host) {
  // A job that shares its machines could otherwise bring one that the run has already.
  std::vector<std::string> left_out = order.bad;
  left_out.insert(left_out.end(), order.near.begin(), order.near.end());
  const auto argv = sbatch_argv(options, own_environment(), left_out, minutes, host);
  const std::string out = RR_TRY(call(argv, "sbatch", replacement_script(options)));
  // "123", or "123;cluster"
  std::string id(base::trim(std::string_view(out).substr(0, out.find(';'))));
  if (base::parse_int<std::uint64_t>(id)) return id;
  return base::fail(base::Errc::kCorrupt, "sbatch names no job");
}

void add_trouble(ReplacementAnswer& answer, const base::Error& error) {
  if (answer.trouble.empty()) answer.trouble = error.what;
}

void queue(const SlurmOptions& options, const ReplacementOrder& order, ReplacementAnswer& answer) {
  const auto minutes = minutes_left(options);
  if (!minutes) return add_trouble(answer, minutes.error());
  std::vector<std::string> hosts = hosts_to_ask_for(options, order);
  hosts.resize(std::min<std::size_t>(order.count, kReplacementsAtOnce));
  for (const std::string& host : hosts) {
    auto id = queue_one(options, order, *minutes, host);
    if (!id && !host.empty()) id = queue_one(options, order, *minutes, "");
    if (!id) return add_trouble(answer, id.error());
    answer.queued.push_back(*std::move(id));
  }
}

}  // namespace

std::string join_file(const SlurmOptions& options) { return options.folder + "/join"; }

std::string replacement_script(const SlurmOptions& options) {
  return fmt::format(
      "#!/bin/bash\n"
      "# Made by robustrun: one more node for a run of job {0}, which lacks one (--replace).\n"
      "folder={1}\n"
      "[ -r \"$folder/join\" ] || exit 0 # the run is over\n"
      "trap : TERM USR1 # for the agent, which gets Slurm's signals from Slurm\n"
      "srun --nodes=1 --ntasks=1 {3} \\\n"
      "  {2} agent --stdin-credential \\\n"
      "  <\"$folder/join\" >\"$folder/job-$SLURM_JOB_ID.log\" 2>&1\n"
      "exit 0\n",
      options.job, quoted(options.folder), quoted(options.executable),
      base::join(agent_step_options(), " "));
}

std::vector<std::string> sbatch_argv(const SlurmOptions& options,
                                     const std::vector<std::string>& own,
                                     const std::vector<std::string>& bad, std::int64_t minutes,
                                     const std::string& host) {
  std::vector<std::string> argv = {"/usr/bin/env"};
  const std::vector<std::string> inherited = srun_environment(options, own);
  for (const std::string& entry : own) {
    // The user's defaults for sbatch hold for this job as well.
    const bool is_kept = std::ranges::find(inherited, entry) != inherited.end();
    if (is_kept || entry.starts_with("SBATCH_")) continue;
    argv.emplace_back("-u");
    argv.push_back(entry.substr(0, entry.find('=')));
  }
  argv.push_back(options.commands + "/sbatch");
  for (const std::string& word : options.replacement) {
    if (!word.starts_with(kExclude)) argv.push_back(word);
  }
  for (const std::string& word :
       {std::string("--parsable"), "--job-name=" + job_name(options), std::string("--nodes=1"),
        std::string("--ntasks-per-node=1"), std::string("--no-requeue"), std::string("--chdir=/"),
        std::string("--output=/dev/null"), std::string("--export=ALL")}) {
    argv.push_back(word);
  }
  if (minutes > 0) argv.push_back(fmt::format("--time={}", minutes));
  if (!host.empty()) argv.push_back("--nodelist=" + host);
  if (const std::string out = excluded(options, bad); !out.empty()) {
    argv.push_back(std::string(kExclude) + out);
  }
  return argv;
}

std::vector<std::string> list_replacements_argv(const SlurmOptions& options) {
  return {options.commands + "/squeue", "--noheader", fmt::format("--user={}", ::getuid()),
          "--name=" + job_name(options), "--format=%i|%T|%N|%r"};
}

base::Result<std::vector<ReplacementJob>> read_replacements(std::string_view listed) {
  std::vector<ReplacementJob> jobs;
  for (const std::string_view line : base::split(listed, '\n')) {
    const auto words = base::split(base::trim(line), '|');
    if (base::trim(line).empty()) continue;
    if (words.size() != 4 || !base::parse_int<std::uint64_t>(words[0])) {
      return base::fail(base::Errc::kCorrupt, "squeue prints no list of jobs");
    }
    const bool is_waiting = words[1] == "PENDING";
    if (!is_waiting && !is_running_job(words[1]) && words[1] != "CONFIGURING") continue;
    ReplacementJob job{std::string(words[0]), !is_waiting, {}, {}};
    (is_waiting ? job.reason : job.node) =
        base::printable((is_waiting ? words[3] : words[2]).substr(0, kSlurmReasonBytesMax));
    if (jobs.size() < kReplacementsListedMax) jobs.push_back(std::move(job));
  }
  return jobs;
}

std::vector<std::string> near_hosts(const std::string& topology, std::string_view idle,
                                    const ReplacementOrder& order) {
  const auto described = topo::read_scontrol(topology, "scontrol show topology");
  if (!described) return {};
  std::set<std::string_view> near;
  for (const topo::SwitchEntry& leaf : described->switches) {
    const bool is_of_run = std::ranges::any_of(leaf.nodes, [&](const std::string& node) {
      return std::ranges::find(order.near, node) != order.near.end();
    });
    if (is_of_run) near.insert(leaf.nodes.begin(), leaf.nodes.end());
  }
  std::vector<std::string> found;
  std::size_t others = 0;
  for (const std::string_view host : base::split(idle, '\n')) {
    if (host.empty() || std::ranges::find(order.bad, host) != order.bad.end()) continue;
    if (!near.contains(host)) {
      ++others;
    } else if (std::ranges::find(found, host) == found.end()) {
      found.emplace_back(host);
    }
  }
  if (others == 0) found.clear();
  return found;
}

ReplacementAnswer order_replacements(const SlurmOptions& options, const ReplacementOrder& order) {
  ReplacementAnswer answer;
  if (!order.cancel.empty()) {
    std::vector<std::string> argv = {options.commands + "/scancel"};
    argv.insert(argv.end(), order.cancel.begin(), order.cancel.end());
    if (const auto done = call(std::move(argv), "scancel"); !done) {
      add_trouble(answer, done.error());
    }
  }
  for (const std::string& job : order.widen) {
    // It fails, without harm, if the job has just started.
    static_cast<void>(call(
        {options.commands + "/scontrol", "update", "JobId=" + job, "ReqNodeList="}, "scontrol"));
  }
  if (order.count > 0) queue(options, order, answer);
  const auto listed = call(list_replacements_argv(options), "squeue");
  answer.jobs = listed ? read_replacements(*listed) : std::unexpected(listed.error());
  return answer;
}

}  // namespace robustrun::launcher
