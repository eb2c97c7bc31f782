#include "cli/submit/submit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <span>
#include <string_view>

#include "base/core/text.h"
#include "cli/options/command_words.h"
#include "cli/options/values.h"
#include "cli/submit/slurm_time.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

base::Status check_options(const Settings& settings, const Surroundings& around) {
  struct Foreign {
    OptionId id;
    const char* why;
  };
  constexpr std::array<Foreign, 7> kForeign = {{
      {OptionId::kDetach, "a submitted job is detached anyway; leave it out"},
      {OptionId::kRunDir, "each start of a job gets a directory named after it; leave it out"},
      {OptionId::kHosts, "Slurm chooses the hosts; use --nodes=N, or --sbatch=--nodelist=LIST"},
      {OptionId::kHostfile, "Slurm chooses the hosts; use --nodes=N"},
      {OptionId::kLauncher, "Slurm starts the agents; leave it out"},
      {OptionId::kPrintConfig, "not for submit; --dry-run shows the batch script"},
      {OptionId::kPrintCompletion, "not for submit; use robustrun completion"},
  }};
  for (const Foreign& foreign : kForeign) {
    if (settings.given(foreign.id) && !settings.text(foreign.id).empty()) {
      return cannot_use(settings, foreign.id, foreign.why);
    }
  }
  if (!settings.has(OptionId::kNodes)) {
    return fail(Errc::kInvalidArgument,
                "cannot submit: the number of nodes is missing; add --nodes=N");
  }
  const bool is_file = !settings.flag(OptionId::kModule) && !settings.flag(OptionId::kNoPython);
  if (is_file && around.machine->kind(settings.script->starts_with('/')
                                          ? *settings.script
                                          : around.working_directory + "/" + *settings.script) ==
                     PathKind::kMissing) {
    return fail(Errc::kNotFound, fmt::format("cannot submit {}: there is no such file in {}",
                                             *settings.script, around.working_directory));
  }
  return {};
}

Result<std::vector<int>> requeue_codes(const Settings& settings) {
  std::vector<int> codes;
  const std::string kinds = settings.text(OptionId::kRequeueOn);
  for (const std::string_view kind : base::split(kinds, ',')) {
    if (kind == "infrastructure") {
      codes.push_back(supervisor::kExitInfrastructure);
    } else if (kind == "time-limit") {
      codes.push_back(supervisor::kExitTimeLimit);
    } else if (kind != "never") {
      return cannot_use(settings, OptionId::kRequeueOn,
                        fmt::format("'{}': expected infrastructure, time-limit or never", kind));
    }
  }
  if (kinds != "never" && kinds.find("never") != std::string::npos) {
    return cannot_use(settings, OptionId::kRequeueOn, "never excludes the others");
  }
  return codes;
}

bool has_any(const std::vector<std::string>& words, std::span<const std::string_view> begins) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return std::ranges::any_of(begins,
                               [&](std::string_view each) { return word.starts_with(each); });
  });
}

bool asks_for_processors(const std::vector<std::string>& sbatch) {
  constexpr std::array<std::string_view, 5> kOptions = {"-c", "--cpus-per-", "--exclusive",
                                                        "--mincpus", "--oversubscribe"};
  return has_any(sbatch, kOptions);
}

bool asks_for_memory(const std::vector<std::string>& sbatch) {
  constexpr std::array<std::string_view, 1> kOptions = {"--mem"};
  return has_any(sbatch, kOptions);
}

bool is_without_limit(std::string time) {
  std::ranges::transform(time, time.begin(), [](unsigned char c) { return std::tolower(c); });
  return time == "unlimited" || time == "infinite";
}

Result<std::vector<std::string>> sbatch_options(const Settings& settings, bool requeue) {
  std::vector<std::string> out;
  const std::string name = settings.text(OptionId::kJobName);
  out.push_back("--job-name=" + (name.empty() ? std::string(last_part(*settings.script)) : name));
  out.push_back("--nodes=" + settings.text(OptionId::kNodes));
  out.emplace_back("--ntasks-per-node=1");
  constexpr std::array<OptionId, 8> kPassed = {
      OptionId::kPartition,   OptionId::kAccount,     OptionId::kQos, OptionId::kTime,
      OptionId::kGpusPerNode, OptionId::kCpusPerTask, OptionId::kMem, OptionId::kSlurmOutput};
  for (const OptionId id : kPassed) {
    if (const std::string value = settings.text(id); !value.empty()) {
      out.push_back(fmt::format("--{}={}", option(id).name, value));
    }
  }
  const std::string more = settings.text(OptionId::kSbatch);
  std::vector<std::string> extra;
  if (!more.empty()) {
    auto words = command_words(more);
    if (!words) return cannot_use(settings, OptionId::kSbatch, words.error().what);
    extra = *std::move(words);
  }
  // The one task of a node is all of its workers. Without these Slurm gives it one processor.
  if (!settings.has(OptionId::kCpusPerTask) && !asks_for_processors(extra)) {
    out.emplace_back("--exclusive");
    if (!settings.has(OptionId::kMem) && !asks_for_memory(extra)) out.emplace_back("--mem=0");
  }
  // A dead node must not end the job: robustrun decides what to do.
  out.emplace_back("--no-kill");
  out.emplace_back(requeue ? "--requeue" : "--no-requeue");
  // A requeued job would truncate its output.
  out.emplace_back("--open-mode=append");
  const auto early = slurm_warning(*settings.duration(OptionId::kSaveWithin));
  const std::string time = settings.text(OptionId::kTime);
  const auto limit = slurm_time(time);
  if (!limit && !time.empty() && !is_without_limit(time)) {
    return cannot_use(settings, OptionId::kTime,
                      fmt::format("'{}': expected sbatch's notation: 90 (minutes), 4:00:00, 2-12",
                                  base::printable(time)));
  }
  if (limit && *limit < 2 * early) {
    return cannot_use(settings, OptionId::kTime,
                      fmt::format("Slurm warns {0} s before the end (--save-within and a minute), "
                                  "which leaves little time; give the job at least {1} minutes, "
                                  "or save faster",
                                  early.count(), (2 * early.count() + 59) / 60));
  }
  out.push_back(fmt::format("--signal=B:USR1@{}", early.count()));
  out.insert(out.end(), extra.begin(), extra.end());
  for (const std::string& each : out) {
    if (each.find_first_of("\n\r") == std::string::npos) continue;
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot submit: line end in {}", base::printable(each)));
  }
  return out;
}

// The options of the user, without those of submit.
std::vector<std::string> run_words(const RunLine& line, const Settings& settings) {
  std::vector<std::string> words;
  for (const Option& row : options()) {
    const auto& value = line.value(row.id);
    if (!value || row.group == Group::kSubmit || row.id == OptionId::kDryRun) continue;
    words.push_back(row.type == Type::kFlag ? fmt::format("--{}", row.name)
                                            : fmt::format("--{}={}", row.name, *value));
  }
  if (!settings.given(OptionId::kShutdownTimeout)) {
    const auto grace =
        std::chrono::ceil<std::chrono::seconds>(*settings.duration(OptionId::kSaveWithin));
    words.push_back(fmt::format("--{}={}", option(OptionId::kShutdownTimeout).name, grace.count()));
  }
  const std::string gpus = settings.text(OptionId::kGpusPerNode);
  if (parse_integer(gpus) && !settings.given(OptionId::kNprocPerNode)) {
    words.push_back(fmt::format("--{}={}", option(OptionId::kNprocPerNode).name, gpus));
  }
  if (line.script) {
    words.push_back("--");
    words.push_back(*line.script);
    words.insert(words.end(), line.arguments.begin(), line.arguments.end());
  }
  return words;
}

}  // namespace

Result<BatchJob> plan_submit(const RunLine& line, const Settings& settings,
                             const Surroundings& around) {
  RR_TRY(check_options(settings, around));
  BatchJob job;
  job.requeue_codes = RR_TRY(requeue_codes(settings));
  job.sbatch = RR_TRY(sbatch_options(settings, !job.requeue_codes.empty()));
  job.robustrun = around.executable;
  job.words = run_words(line, settings);
  return job;
}

namespace {

// nullptr: the option belongs to no subcommand.
const char* subcommand_of(Group group) {
  if (group == Group::kCheck) return "check";
  if (group == Group::kSubmit) return "submit";
  if (group == Group::kReplay) return "replay";
  return group == Group::kPlan ? "plan" : nullptr;
}

}  // namespace

base::Status check_subcommand(const RunLine& line, Group own) {
  for (const Option& row : options()) {
    const char* const owner = subcommand_of(row.group);
    if (owner == nullptr || row.group == own || !line.value(row.id)) continue;
    return fail(Errc::kInvalidArgument,
                fmt::format("argument --{}: only for robustrun {}", row.name, owner));
  }
  return {};
}

}  // namespace robustrun::cli
