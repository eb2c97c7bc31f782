// `robustrun submit` queues a Slurm job, `robustrun requeue` queues it again without the hosts that
// failed its run.

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/tool.h"
#include "cli/commands/commands.h"
#include "cli/nodes/batch_hosts.h"
#include "cli/nodes/history.h"
#include "cli/options/help_text.h"
#include "cli/options/limits.h"
#include "cli/options/parser.h"
#include "cli/options/settings.h"
#include "cli/runs/blamed.h"
#include "cli/runs/find_run.h"
#include "cli/runs/read_journal.h"
#include "cli/runs/run_chain.h"
#include "cli/runs/run_status.h"
#include "cli/submit/batch_script.h"
#include "cli/submit/submit.h"
#include "launcher/slurm/avoidance.h"
#include "launcher/slurm/fields.h"
#include "launcher/slurm/notice.h"
#include "supervisor/core/status/node_standing.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {
namespace {

// One line, as all our messages are.
std::string joined_lines(std::string_view text) {
  std::string joined;
  for (const std::string_view line : base::split(base::trim(text), '\n')) {
    joined += (joined.empty() ? "" : "; ") + std::string(line);
  }
  return joined;
}

base::Result<std::string> call_sbatch(const std::string& script, const Surroundings& around) {
  const auto sbatch = base::find_executable("sbatch", around.variable("PATH").value_or(""));
  if (!sbatch) {
    return base::fail(base::Errc::kNotFound,
                      "cannot submit: sbatch is not on PATH; log in to a host of the cluster, "
                      "or submit the script that --dry-run prints");
  }
  const auto done = RR_TRY(base::run_tool({*sbatch, "--parsable"}, kSubmitMax, script));
  if (!done.status.success()) {
    return base::fail(base::Errc::kInvalidArgument,
                      fmt::format("cannot submit: sbatch ended with {}: {}",
                                  base::describe(done.status), joined_lines(done.err)));
  }
  // "123", or "123;cluster"
  return std::string(base::trim(done.out.substr(0, done.out.find(';'))));
}

}  // namespace

int submit_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_run_line(argv);
  if (!line) return complain_of_usage(around, "submit", line.error().what);
  if (line->value(OptionId::kHelp)) {
    print(command_help("submit", terminal_columns(around)));
    return 0;
  }
  if (const auto status = check_subcommand(*line, Group::kSubmit); !status) {
    return complain_of_usage(around, "submit", status.error().what);
  }
  const auto settings = merge_settings(*line, around);
  if (!settings) return complain(settings.error());
  if (!settings->script) {
    return complain_of_usage(around, "submit",
                             "the following arguments are required: training_script");
  }
  const auto job = plan_submit(*line, *settings, around);
  if (!job) return complain(job.error());
  const std::string script = batch_script(*job);
  if (settings->flag(OptionId::kDryRun)) {
    print(script);
    return 0;
  }
  const auto id = call_sbatch(script, around);
  if (!id) return complain(id.error());
  print(*id + "\n");
  say(
      fmt::format("job {0} is queued; once it runs, robustrun status|report|stop "
                  "robustrun-runs/slurm-{0}; scancel {0} ends it",
                  *id));
  return 0;
}

namespace {

using launcher::BlamedHost;

class Scheduler {
 public:
  explicit Scheduler(const Surroundings& around) : path_(around.variable("PATH").value_or("")) {}

  // Slurm's signal to the job may hit its own tools: then they are tried again.
  base::Result<std::string> ask(const std::string& tool, std::vector<std::string> words,
                                std::chrono::milliseconds time_max) const {
    const auto found = base::find_executable(tool, path_);
    if (!found) return base::fail(base::Errc::kNotFound, tool + " is not on PATH");
    words.insert(words.begin(), *found);
    for (int tries = 1;; ++tries) {
      const auto done = RR_TRY(base::run_tool(words, time_max));
      // What is missing would pass for hosts that Slurm does not have.
      if (done.status.success() && done.out.size() >= base::kToolOutputBytesMax) {
        return base::fail(base::Errc::kLimit, fmt::format("{} prints more than {} bytes", tool,
                                                          base::kToolOutputBytesMax));
      }
      if (done.status.success()) return done.out;
      const bool was_killed = done.status.kind == base::ExitStatus::Kind::kSignaled;
      if (was_killed && tries < kRequeueTriesMax) continue;
      return base::fail(base::Errc::kUnavailable,
                        fmt::format("{} ended with {}: {}", tool, base::describe(done.status),
                                    base::printable(base::trim(done.err))));
    }
  }

 private:
  std::string path_;
};

// In the directory of a start: the hosts that the next one was told to leave out, a line each. They
// are decided about anew at each requeue, unlike those that the user left out.
constexpr const char* kLeftOut = "/left-out";
constexpr unsigned kLeftOutMode = 0600;

struct Facts {
  std::string directory;  // of the newest start
  std::vector<std::string> ours;  // left out by earlier requeues
  std::vector<BlamedHost> blamed;  // the worst first
  std::vector<std::string> had;  // hosts of the newest start
  std::vector<launcher::SlurmHost> hosts;
};

bool is_named(const std::vector<BlamedHost>& hosts, const std::string& name) {
  return std::ranges::find(hosts, name, &BlamedHost::name) != hosts.end();
}

// Repeat offenders of other runs count as well, after the hosts that failed this one.
base::Result<Facts> gather(const std::string& directory, const Scheduler& slurm,
                           const Surroundings& around) {
  Facts facts;
  facts.directory = directory;
  for (const KnownRun& start : chain_of(directory).starts) {
    const auto left_out = base::read_file(start.directory + kLeftOut, kLeftOutBytesMax);
    if (!left_out) continue;
    for (const std::string_view name : base::split(*left_out, '\n')) {
      if (!name.empty()) facts.ours.emplace_back(name);
    }
  }
  supervisor::NodeHistory history;
  const std::string asked = around.variable("ROBUSTRUN_NODE_HISTORY").value_or("auto");
  if (const std::string folder = history_folder(asked, around); !folder.empty()) {
    if (auto read = around.machine->node_history(folder)) history = *std::move(read);
  }
  facts.blamed = blamed_hosts(notes_of_chain(directory, history));
  for (const auto& standing : supervisor::standings(history.notes, around.wall_time)) {
    if (standing.is_offender && !is_named(facts.blamed, standing.host)) {
      facts.blamed.push_back({standing.host, supervisor::in_words(standing), false});
    }
  }
  if (facts.blamed.empty()) return facts;
  const auto readout = RR_TRY(read_journal(directory + "/journal"));
  const supervisor::RunStatus status = supervisor::status_of_journal(readout.entries);
  for (const supervisor::NodeStatus& node : status.nodes) facts.had.push_back(node.name);
  auto words = launcher::list_hosts_argv("");
  words.erase(words.begin());
  facts.hosts =
      launcher::read_slurm_hosts(RR_TRY(slurm.ask("sinfo", std::move(words), kSlurmAnswerMax)));
  // Another cluster's hosts are in the history, too.
  std::erase_if(facts.blamed, [&](const BlamedHost& host) {
    return std::ranges::find(facts.hosts, host.name, &launcher::SlurmHost::name) ==
           facts.hosts.end();
  });
  return facts;
}

// Slurm changes the list only of a job that is pending: the one that was just queued again. A job
// that has lost a node may not be changed before this script has ended (docs/internals/slurm.md 4);
// until then slurmctld tries again each second, at most five times, also without its client. So the
// answer is waited for only as long as Slurm took for a question.
base::Status leave_out(const Facts& facts, const std::string& job, const Scheduler& slurm,
                       std::uint32_t had_nodes) {
  if (facts.blamed.empty() && facts.ours.empty()) return {};
  const base::SystemClock clock;
  const base::Nanos asked_at = clock.now();
  const std::string shown =
      RR_TRY(slurm.ask("scontrol", {"show", "job", "--oneliner", job}, kSlurmAnswerMax));
  const auto took = std::chrono::ceil<std::chrono::milliseconds>(clock.now() - asked_at);
  auto pending = RR_TRY(launcher::read_pending_job(shown));
  // While Slurm cleans up after a job it shows only the nodes on which it still does.
  pending.nodes = std::max(pending.nodes, had_nodes);
  std::vector<std::string> before = pending.excluded;
  std::erase_if(pending.excluded, [&](const std::string& name) {
    return std::ranges::find(facts.ours, name) != facts.ours.end();
  });
  const launcher::Avoidance choice =
      launcher::choose_avoided(pending, facts.hosts, facts.had, facts.blamed);
  std::ranges::sort(before, base::natural_less);
  bool is_confirmed = true;
  if (choice.excluded != before) {
    const auto done = slurm.ask(
        "scontrol", {"update", "JobId=" + job, "ExcNodeList=" + base::join(choice.excluded, ",")},
        std::min<std::chrono::milliseconds>(std::max(kSlurmUpdateMin, kSlurmUpdateSlack * took),
                                            kSlurmAnswerMax));
    is_confirmed = done.has_value();
    if (!done && done.error().code != base::Errc::kTimeout) return std::unexpected(done.error());
  }
  std::string ours;
  for (const std::string& name : choice.excluded) {
    const bool is_users = std::ranges::find(pending.excluded, name) != pending.excluded.end();
    if (!is_users) ours += name + "\n";
  }
  RR_TRY(base::write_file_atomically(facts.directory + kLeftOut, ours, kLeftOutMode));
  for (const std::string& words : choice.words) say(words);
  if (!is_confirmed) say("Slurm was asked to; it does so when this script has ended");
  return {};
}

// Of an array one task alone: its number may be the array's own.
std::string name_of_job(const std::string& number, const Surroundings& around) {
  const std::string array = around.variable("SLURM_ARRAY_JOB_ID").value_or("");
  const std::string task = around.variable("SLURM_ARRAY_TASK_ID").value_or("");
  return array.empty() || task.empty() ? number : fmt::format("{}_{}", array, task);
}

// An answer that does not come is taken for no.
bool slurm_requeues_itself(const std::string& job, const Scheduler& slurm) {
  const auto version = slurm.ask("scontrol", {"--version"}, kSlurmAnswerMax);
  const auto shown = slurm.ask("scontrol", {"show", "job", "--oneliner", job}, kSlurmAnswerMax);
  if (!version || !shown) return false;
  const std::string name(launcher::SlurmFields(*shown).value("Partition"));
  const auto partition =
      slurm.ask("scontrol", {"show", "partition", "--oneliner", name}, kSlurmAnswerMax);
  return partition && launcher::requeues_itself(*version, *shown, *partition);
}

// Only Slurm can be told which hosts to leave out.
int requeue(const launcher::BatchJob& job) {
  const std::string_view system = to_string(job.system);
  if (job.commands.empty()) {
    return complain({base::Errc::kNotFound, 0,
                     fmt::format("cannot queue the {} job {} again: {} is not on PATH; add its "
                                 "folder",
                                 system, job.id, launcher::show_program(job.system))});
  }
  ::signal(SIGTERM, SIG_IGN);
  const std::vector<std::string> argv = launcher::requeue_argv(job);
  const std::string tool = argv.front().substr(argv.front().rfind('/') + 1);
  const auto done = base::run_tool(argv, kSubmitMax);
  if (done && done->status.success()) {
    say(fmt::format("{} job {} is queued again", system, job.id));
    return 0;
  }
  say(
      fmt::format("cannot queue the {} job {} again: {}; submit it again, or ask the site who may "
                  "use {}",
                  system, job.id,
                  done ? fmt::format("{} ended with {}: {}", tool, base::describe(done->status),
                                     joined_lines(done->err))
                       : done.error().what,
                  tool));
  return supervisor::kExitFailure;
}

}  // namespace

int requeue_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_requeue_line(argv);
  if (!line) return complain_of_usage(around, "requeue", line.error().what);
  if (line->help) {
    print(command_help("requeue", terminal_columns(around)));
    return 0;
  }
  const std::string number = around.variable("SLURM_JOB_ID").value_or("");
  if (number.empty()) {
    if (const auto other = batch_job_of(around); !other.id.empty()) return requeue(other);
    return complain({base::Errc::kInvalidArgument, 0,
                     "cannot queue the job again: this is no job of Slurm, PBS, Grid Engine or LSF "
                     "(SLURM_JOB_ID is not set, for one); call this in the job's batch script"});
  }
  const std::string job = name_of_job(number, around);
  const Scheduler slurm(around);
  if (slurm_requeues_itself(job, slurm)) {
    say(fmt::format("job {} was preempted: Slurm queues it again when this script has ended", job));
    return 0;
  }
  const std::uint32_t had_nodes =
      base::parse_int<std::uint32_t>(around.variable("SLURM_JOB_NUM_NODES").value_or(""))
          .value_or(1);
  base::Result<Facts> facts;
  const auto journal = find_journal(line->run.empty() ? "slurm-" + number : line->run, around);
  if (journal) {
    const std::string directory = std::filesystem::path(*journal).parent_path();
    if (const VainStarts vain = vain_starts(directory); vain.count == kVainStartsMax) {
      say(
          fmt::format("job {} is not queued again: no worker ran in its last {} starts; the last "
                      "one ended with: {}",
                      job, vain.count, vain.reason));
      return supervisor::kExitDoNotRequeue;
    }
    facts = gather(directory, slurm, around);
  } else {
    facts = std::unexpected(journal.error());
  }
  // Slurm ends the batch script, and us, once the job is queued.
  ::signal(SIGTERM, SIG_IGN);
  const auto queued = slurm.ask("scontrol", {"requeue", job}, kSubmitMax);
  if (!queued) {
    say("cannot queue the job again: " + queued.error().what);
    return supervisor::kExitFailure;
  }
  say(fmt::format("job {} is queued again", job));
  const base::Status done = facts ? leave_out(*facts, job, slurm, had_nodes)
                                  : base::Status(std::unexpected(facts.error()));
  if (!done) say("hosts that failed the run are not left out: " + done.error().what);
  return 0;
}

}  // namespace robustrun::cli
