// `robustrun replay`: finds the machine that makes a job go wrong. Runs the job, or the alignment
// test, on groups of machines in two phases (supervisor/core/types/replay_plan.h).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>

#include "base/core/text.h"
#include "cli/commands/commands.h"
#include "cli/commands/replay_runs.h"
#include "cli/nodes/nodes.h"
#include "cli/options/help_text.h"
#include "cli/options/limits.h"
#include "cli/options/parser.h"
#include "cli/options/settings.h"
#include "cli/submit/submit.h"
#include "launcher/hosts/host_list.h"
#include "supervisor/core/types/exit_code.h"
#include "supervisor/core/types/replay_plan.h"

namespace robustrun::cli {
namespace {

using supervisor::ReplayGroup;
using supervisor::ReplayPhase;
using supervisor::ReplayVerdict;

// Options that each group's run sets itself or must not have.
constexpr std::array kReplaced = {
    OptionId::kHosts,       OptionId::kHostfile,        OptionId::kInclude,
    OptionId::kExclude,     OptionId::kNnodes,          OptionId::kSpares,
    OptionId::kNodesMin,    OptionId::kRank0,           OptionId::kMaxRestarts,
    OptionId::kTimeLimit,   OptionId::kRunDir,          OptionId::kSummaryJson,
    OptionId::kMetricsPort, OptionId::kMetricsFile,     OptionId::kEvents,
    OptionId::kOnIncident,  OptionId::kNotify,          OptionId::kSummaryJunit,
    OptionId::kTrackers,    OptionId::kDryRun,          OptionId::kDetach,
    OptionId::kPrintConfig, OptionId::kPrintCompletion, OptionId::kConfig};

struct Phase {
  std::vector<ReplayGroup> groups;
  std::vector<std::size_t> failed;    // numbers of groups
  std::vector<std::size_t> untested;  // no passed group was left to complete them
};

class Replay {
 public:
  Replay(const Settings& settings, const Surroundings& around, std::vector<launcher::Host> hosts,
         std::string folder, SignalReader signals)
      : settings_(settings),
        around_(around),
        hosts_(std::move(hosts)),
        folder_(std::move(folder)),
        limit_(settings.duration(OptionId::kTimeLimit).value_or(kReplayLimit)),
        signals_(std::move(signals)) {}

  base::Result<Phase> run(supervisor::ReplayShape shape, ReplayPhase which);
  [[nodiscard]] std::string names(const std::vector<supervisor::Machine>& machines) const;
  [[nodiscard]] int stopped_by() const { return stopped_by_; }
  [[nodiscard]] const std::string& name(supervisor::Machine machine) const {
    return hosts_[machine].name;
  }

 private:
  [[nodiscard]] ReplayRun run_of(const std::string& name, const ReplayGroup& group) const;
  base::Status run_wave(Phase& phase, const std::vector<std::size_t>& wave, char letter);

  const Settings& settings_;
  const Surroundings& around_;
  std::vector<launcher::Host> hosts_;
  std::string folder_;
  base::Nanos limit_;
  SignalReader signals_;
  int stopped_by_ = 0;
};

// All settings are on its command line, so that it needs neither the file of --config nor
// variables.
ReplayRun Replay::run_of(const std::string& name, const ReplayGroup& group) const {
  ReplayRun run{name, {}, around_.environment};
  for (const Option& row : options()) {
    const std::string variable = variable_name(row);
    std::erase_if(run.environment, [&variable](const std::string& entry) {
      return !variable.empty() && entry.starts_with(variable + "=");
    });
    const Setting& setting = settings_.get(row.id);
    const bool is_variable_of_torch = setting.origin == Origin::kFallback;
    if (!settings_.given(row.id) || is_variable_of_torch || subcommand_of(row.group) != nullptr ||
        std::ranges::find(kReplaced, row.id) != kReplaced.end()) {
      continue;
    }
    if (row.type != Type::kFlag) {
      run.words.push_back(fmt::format("--{}={}", row.name, *setting.text));
    } else if (settings_.flag(row.id)) {
      run.words.push_back(fmt::format("--{}", row.name));
    }
  }
  std::vector<std::string> hosts;
  for (const auto* machines : {&group.members, &group.helpers}) {
    for (const auto machine : *machines) hosts.push_back(launcher::to_text(hosts_[machine]));
  }
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(limit_).count();
  run.words.push_back("--hosts=" + base::join(hosts, ","));
  run.words.push_back(fmt::format("--nnodes={}", hosts.size()));
  run.words.push_back("--max-restarts=0");
  run.words.push_back(fmt::format("--time-limit={}", seconds));
  run.words.push_back("--run-dir=" + folder_ + "/" + name);
  if (!settings_.script) {
    run.words.insert(run.words.end(), {"-m", "robustrun.align"});
  } else {
    run.words.push_back(*settings_.script);
    run.words.insert(run.words.end(), settings_.arguments.begin(), settings_.arguments.end());
  }
  return run;
}

base::Status Replay::run_wave(Phase& phase, const std::vector<std::size_t>& wave, char letter) {
  std::vector<ReplayRun> runs;
  for (const std::size_t number : wave) {
    runs.push_back(run_of(fmt::format("{}{}", letter, number), phase.groups[number]));
  }
  if (runs.empty()) return {};
  const auto ended =
      RR_TRY(run_side_by_side(runs, folder_, limit_ + kReplayGrace, signals_, around_));
  stopped_by_ = ended.stopped_by;
  if (stopped_by_ != 0) return base::fail(base::Errc::kUnavailable, "stopped");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const base::ExitStatus& end = ended.ends[i];
    const ReplayGroup& group = phase.groups[wave[i]];
    say(fmt::format("{}{} ({}{}): {}", letter, wave[i], names(group.members),
                    group.helpers.empty() ? "" : ", completed with " + names(group.helpers),
                    end.success() ? "passed" : "failed: " + base::describe(end)));
    if (end.success()) continue;
    if (end.kind == base::ExitStatus::Kind::kExited && end.code == supervisor::kExitUsage) {
      return base::fail(base::Errc::kInvalidArgument,
                        fmt::format("cannot replay: the run rejects its options; see "
                                    "{}/{}.log",
                                    folder_, runs[i].name));
    }
    phase.failed.push_back(wave[i]);
  }
  return {};
}

base::Result<Phase> Replay::run(supervisor::ReplayShape shape, ReplayPhase which) {
  const char letter = which == ReplayPhase::kHorizontal ? 'h' : 'v';
  Phase phase;
  phase.groups = supervisor::replay_groups(shape, static_cast<std::uint32_t>(hosts_.size()), which);
  std::vector<std::size_t> whole, lacking;
  for (std::size_t i = 0; i < phase.groups.size(); ++i) {
    const std::size_t size = phase.groups[i].members.size();
    if (size == shape.m) whole.push_back(i);
    if (size > 0 && size < shape.m) lacking.push_back(i);
  }
  RR_TRY(run_wave(phase, whole, letter));
  std::vector<std::uint8_t> passed(phase.groups.size(), 0);
  for (const std::size_t i : whole) {
    passed[i] = std::ranges::find(phase.failed, i) == phase.failed.end() ? 1 : 0;
  }
  // One after the other: the same machines may complete several groups.
  for (const std::size_t i : lacking) {
    if (supervisor::fill_group(phase.groups, i, passed, shape)) {
      RR_TRY(run_wave(phase, {i}, letter));
    } else {
      phase.untested.push_back(i);
      say(fmt::format("{}{} ({}): not tested, no group that passed can complete it", letter, i,
                      names(phase.groups[i].members)));
    }
  }
  return phase;
}

std::string Replay::names(const std::vector<supervisor::Machine>& machines) const {
  std::vector<std::string> all;
  for (const auto machine : machines) all.push_back(name(machine));
  return base::join(all, ",");
}

// The verdict as a sentence, and the exit code.
std::pair<std::string, int> conclusion(const Replay& replay, const ReplayVerdict& verdict) {
  using Kind = ReplayVerdict::Kind;
  const std::string suspects = replay.names(verdict.suspects);
  const int several = supervisor::kExitCandidates;
  switch (verdict.kind) {
    case Kind::kNotReproduced:
      return {"no group failed: this program does not show the fault, or the fault is intermittent",
              0};
    case Kind::kOne:
      return {fmt::format("{} is in both groups that failed", suspects), supervisor::kExitSuspect};
    case Kind::kSeveral:
      return {
          fmt::format("several groups failed: more than one machine is faulty; candidates {}"
                      "; certain to be among them: {}",
                      suspects, verdict.certain.empty() ? "none" : replay.names(verdict.certain)),
          several};
    case Kind::kOnePhase:
      return {"only groups of one phase failed: the fault is intermittent; candidates " + suspects,
              several};
    case Kind::kNothingShared:
      return {
          "the failed groups share no machine: the fault is intermittent, or not a machine's; "
          "candidates " +
              suspects,
          several};
  }
  return {"", several};
}

int replay(const Settings& settings, const Surroundings& around) {
  auto nodes = plan_nodes(settings, around);
  if (!nodes) return complain(nodes.error());
  using Way = NodesPlan::Way;
  if (nodes->way != Way::kSsh && nodes->way != Way::kProcesses) {
    const bool are_named = settings.has(OptionId::kHosts) || settings.has(OptionId::kHostfile);
    return complain({base::Errc::kInvalidArgument, 0,
                     are_named ? "cannot replay: it compares machines, and this one alone is named"
                               : "cannot replay: no machines are named; add --hosts=LIST or "
                                 "--hostfile=FILE"});
  }
  std::vector<launcher::Host> hosts = std::move(nodes->hosts);
  hosts.insert(hosts.end(), nodes->unused.begin(), nodes->unused.end());
  launcher::sort_naturally(hosts);
  const auto unit = static_cast<std::uint32_t>(settings.integer(OptionId::kUnit).value_or(1));
  const auto shape = supervisor::replay_shape(static_cast<std::uint32_t>(hosts.size()), unit);
  if (!shape) {
    return complain({shape.error().code, 0, "cannot replay: " + shape.error().what});
  }
  if (!settings.script && shape->m == 1) {
    return complain({base::Errc::kInvalidArgument, 0,
                     "cannot replay: the alignment test compares machines, and fewer than 4 "
                     "machines make groups of one; run robustrun -m robustrun.align on all of "
                     "them instead"});
  }
  std::string folder = settings.text(OptionId::kRunDir);
  if (folder.empty()) {
    folder = fmt::format("{}/robustrun-runs/replay-{:08x}", around.working_directory,
                         static_cast<std::uint32_t>(around.seed));
  } else if (!folder.starts_with('/')) {
    folder = around.working_directory + "/" + folder;
  }
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return complain(
        {base::Errc::kUnavailable, 0, "cannot make " + folder + ": " + error.message()});
  auto signals = SignalReader::open({SIGINT, SIGTERM, SIGHUP});
  if (!signals) return complain(signals.error());
  say(fmt::format("{} machines, {} groups of {} in each phase; logs in {}", hosts.size(), shape->n,
                  shape->m, folder));
  Replay job(settings, around, std::move(hosts), folder, *std::move(signals));
  std::array<Phase, 2> phases;
  for (const ReplayPhase which : {ReplayPhase::kHorizontal, ReplayPhase::kVertical}) {
    auto phase = job.run(*shape, which);
    if (!phase && job.stopped_by() != 0) return supervisor::kExitSignalBase + job.stopped_by();
    if (!phase) {
      say(phase.error().what);
      return phase.error().code == base::Errc::kInvalidArgument ? supervisor::kExitUsage
                                                                : supervisor::kExitFailure;
    }
    phases[static_cast<std::size_t>(which)] = *std::move(phase);
  }
  const auto verdict =
      supervisor::intersect(phases[0].groups, phases[1].groups, phases[0].failed, phases[1].failed);
  const auto [text, exit_code] = conclusion(job, verdict);
  say(text);
  for (const auto machine : verdict.suspects) print(job.name(machine) + "\n");
  return exit_code;
}

}  // namespace

int replay_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_run_line(argv);
  if (!line) return complain_of_usage(around, "replay", line.error().what);
  if (line->value(OptionId::kHelp)) {
    print(command_help("replay", terminal_columns(around)));
    return 0;
  }
  if (const auto status = check_subcommand(*line, Group::kReplay); !status) {
    return complain_of_usage(around, "replay", status.error().what);
  }
  const auto settings = merge_settings(*line, around);
  if (!settings) return complain(settings.error());
  return replay(*settings, around);
}

}  // namespace robustrun::cli
