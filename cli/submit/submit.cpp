#include "cli/submit/submit.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "base/core/text.h"
#include "cli/options/values.h"
#include "cli/placement/wishes.h"
#include "cli/submit/replacement_options.h"
#include "cli/submit/sbatch_options.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;

// What the job itself would refuse only when Slurm starts it.
base::Status check_placement(const Settings& settings) {
  const PlacementWishes wishes = RR_TRY(placement_wishes(settings));
  const bool is_fixed = !settings.given(OptionId::kNnodes) && !settings.given(OptionId::kSpares);
  const auto workers = parse_integer(settings.text(
      settings.given(OptionId::kNprocPerNode) ? OptionId::kNprocPerNode : OptionId::kGpusPerNode));
  const auto nodes = parse_integer(settings.text(OptionId::kNodes));
  if (!settings.has(OptionId::kParallel) || !is_fixed || !workers || !nodes) return {};
  if (*workers < 1 || *nodes < 1 || *workers > UINT32_MAX / *nodes) return {};  // refused elsewhere
  const auto fits = topo::resolve(wishes.parallel, static_cast<std::uint32_t>(*workers * *nodes));
  if (!fits) return cannot_use(settings, OptionId::kParallel, fits.error().what);
  return {};
}

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
  const std::string config = settings.text(OptionId::kConfig);
  const PathKind kind = config.empty() ? PathKind::kFile : around.machine->kind(config);
  if (kind == PathKind::kOther || kind == PathKind::kSocket) {
    return cannot_use(
        settings, OptionId::kConfig,
        "the job reads this file when it starts; a pipe no longer exists then. Name a file");
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

std::string with_quotes(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_quoted(word);
  return text;
}

// The options of the user, without those of submit. `sbatch`: the options of the job.
Result<std::vector<std::string>> run_words(const RunLine& line, const Settings& settings,
                                           const std::vector<std::string>& sbatch) {
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
  const bool may_replace = settings.integer(OptionId::kReplace).value_or(0) > 0;
  if (may_replace && !settings.given(OptionId::kReplaceWith)) {
    words.push_back(fmt::format("--{}={}", option(OptionId::kReplaceWith).name,
                                with_quotes(RR_TRY(replacement_options(with_quotes(sbatch))))));
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
  RR_TRY(check_placement(settings));
  BatchJob job;
  job.requeue_codes = RR_TRY(requeue_codes(settings));
  job.sbatch = RR_TRY(sbatch_options(settings, !job.requeue_codes.empty()));
  job.robustrun = around.executable;
  job.words = RR_TRY(run_words(line, settings, job.sbatch));
  if (settings.given(OptionId::kNodeHistory)) {
    job.node_history = settings.text(OptionId::kNodeHistory);
  }
  return job;
}

const char* subcommand_of(Group group) {
  if (group == Group::kCheck) return "check";
  if (group == Group::kSubmit) return "submit";
  if (group == Group::kKubernetes) return "k8s";
  if (group == Group::kReplay) return "replay";
  return group == Group::kPlan ? "plan" : nullptr;
}

namespace {

// k8s takes some of submit's, and refuses the others with a reason (kubernetes_job.cpp).
bool takes(Group own, Group group) {
  return group == own || (own == Group::kKubernetes && group == Group::kSubmit);
}

}  // namespace

base::Status check_subcommand(const RunLine& line, Group own) {
  for (const Option& row : options()) {
    const char* const owner = subcommand_of(row.group);
    if (owner == nullptr || takes(own, row.group) || !line.value(row.id)) continue;
    return fail(Errc::kInvalidArgument,
                fmt::format("argument --{}: only for robustrun {}", row.name, owner));
  }
  return {};
}

}  // namespace robustrun::cli
