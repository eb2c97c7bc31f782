#include "cli/plan/trackers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/core/text.h"
#include "cli/options/limits.h"
#include "cli/options/values.h"

namespace robustrun::cli {
namespace {

bool is_directory(const Surroundings& around, const std::string& path) {
  const PathKind kind = around.machine->kind(path);
  return kind == PathKind::kDirectory || kind == PathKind::kEmptyDirectory;
}

// The starts of this Slurm job before this one.
std::int64_t earlier_starts(const Surroundings& around) {
  if (!around.variable("SLURM_JOB_ID")) return 0;
  const auto count = parse_integer(around.variable("SLURM_RESTART_COUNT").value_or("0"));
  return std::clamp<std::int64_t>(count.value_or(0), 0, kSlurmStartsMax);
}

}  // namespace

std::string tracker_folder(const std::string& run_directory, const std::string& id,
                           const Surroundings& around) {
  const std::int64_t starts = earlier_starts(around);
  const std::size_t slash = run_directory.rfind('/');
  const std::string folder = run_directory.substr(0, slash + 1);
  std::string name = run_directory.substr(slash + 1);
  const std::string own = fmt::format("-{}", starts);
  // As `robustrun submit` names them: slurm-JOB, slurm-JOB-1, slurm-JOB-2.
  if (starts > 0 && name.ends_with(own)) {
    name.resize(name.size() - own.size());
    for (std::int64_t start = 0; start < starts; ++start) {
      const std::string earlier = folder + (start == 0 ? name : fmt::format("{}-{}", name, start));
      if (is_directory(around, earlier)) return earlier + "/trackers";
    }
  } else if (starts > 0 && !id.empty() && name.starts_with(id + "-") &&
             is_directory(around, folder + id)) {
    return folder + id + "/trackers";  // the name was taken by the first start
  }
  return run_directory + "/trackers";
}

base::Status plan_trackers(const Settings& settings, const Surroundings& around, RunPlan& plan) {
  const OptionId id = OptionId::kTrackers;
  if (!settings.has(id)) return {};
  bool resume = false;
  bool annotate = false;
  for (const std::string& text : parse_filters(settings.text(id))) {
    const std::string word(base::trim(text));
    if (word != "resume" && word != "annotate") {
      const std::vector<std::string> words{"resume", "annotate"};
      return cannot_use(settings, id,
                        fmt::format("'{}': expected resume, annotate or both{}",
                                    base::printable(word), did_you_mean(word, words)));
    }
    (word == "resume" ? resume : annotate) = true;
  }
  wire::WorkerTemplate& workers = plan.request.workers;
  if (workers.python_path.empty() || workers.mode == wire::LaunchMode::kExecutable) {
    plan.warnings.push_back(fmt::format(
        "{} has no effect: it needs workers that are Python scripts, and not --inject=off",
        settings.written(id)));
    return {};
  }
  const std::string folder = tracker_folder(
      plan.places.run_directory,
      settings.has(OptionId::kRdzvId) ? settings.text(OptionId::kRdzvId) : "", around);
  workers.environment.push_back(fmt::format("ROBUSTRUN_TRACKER_STATE={}{}{}:{}",
                                            resume ? "resume" : "", resume && annotate ? "," : "",
                                            annotate ? "annotate" : "", folder));
  if (annotate) plan.request.outlets.incidents_file = folder + "/incidents.jsonl";
  return {};
}

}  // namespace robustrun::cli
