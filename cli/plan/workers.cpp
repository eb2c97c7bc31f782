#include "cli/plan/workers.h"

#include <fmt/format.h>

#include <csignal>
#include <optional>
#include <string>
#include <vector>

#include "agent/output/line_metrics.h"
#include "agent/trainer_saves/half_written.h"
#include "base/core/exit_status.h"
#include "base/core/text.h"
#include "cli/options/limits.h"
#include "cli/options/values.h"
#include "cli/plan/plan.h"
#include "cli/plan/stage.h"
#include "cli/plan/startup.h"
#include "cli/tables/log_format_file.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;

Result<std::uint32_t> stack_signal(const Settings& settings, bool injected) {
  const std::string text = settings.text(OptionId::kStackSignal);
  if (text == "off" || text == "0" || !injected) return 0;
  const int number = base::signal_number(text);
  if (number >= SIGRTMIN && number <= SIGRTMAX) return static_cast<std::uint32_t>(number);
  return fail(Errc::kInvalidArgument,
              fmt::format("cannot use {}: it must be a real-time signal, SIGRTMIN+1 to "
                          "SIGRTMIN+{}, or off",
                          settings.written(OptionId::kStackSignal), SIGRTMAX - SIGRTMIN));
}

base::Status check_omp(const Settings& settings) {
  const std::string text = settings.text(OptionId::kOmp);
  if (text == "auto" || text == "torchrun" || text == "off") return {};
  if (const auto threads = parse_integer(text); threads && *threads > 0) return {};
  const std::vector<std::string> words{"auto", "torchrun", "off"};
  return fail(Errc::kInvalidArgument,
              fmt::format("cannot use {}: it must be auto, torchrun, off or a number of threads{}",
                          settings.written(OptionId::kOmp), did_you_mean(text, words)));
}

wire::StandbyMode standby_mode(const std::string& word) {
  if (word == "spares") return wire::StandbyMode::kSpares;
  return word == "all" ? wire::StandbyMode::kAll : wire::StandbyMode::kOff;
}

// The folder of the boot module, as installed beside the executable.
Result<std::string> python_path(const Settings& settings, wire::LaunchMode mode,
                                const Surroundings& around) {
  if (settings.text(OptionId::kInject) == "off") return "";
  std::string path = python_folder(around);
  if (around.machine->kind(path + "/robustrun/boot.py") == PathKind::kFile) return path;
  if (mode == wire::LaunchMode::kExecutable) return "";
  return fail(Errc::kNotFound,
              fmt::format("cannot find our Python module {}/robustrun/boot.py: the installation is "
                          "incomplete; install robustrun again, or use --inject=off",
                          path));
}

// Patterns of --line-metrics; its word auto stands for the formats.
base::Status plan_line_metrics(const Settings& settings, const Surroundings& around,
                               wire::WorkerTemplate& workers) {
  std::vector<std::string> patterns = parse_filters(settings.text(OptionId::kLineMetrics));
  if (std::erase(patterns, "auto") > 0) {
    workers.line_formats = RR_TRY(plan_log_formats(settings, around));
  } else if (settings.has(OptionId::kLogFormats)) {
    return cannot_use(settings, OptionId::kLogFormats,
                      "formats are looked for with --line-metrics=auto alone; add it");
  }
  if (patterns.size() > kLineMetricsMax) {
    return cannot_use(settings, OptionId::kLineMetrics,
                      fmt::format("more than {} patterns", kLineMetricsMax));
  }
  for (const std::string& pattern : patterns) {
    if (const auto parsed = agent::parse_line_pattern(pattern); !parsed) {
      return cannot_use(settings, OptionId::kLineMetrics,
                        "'" + base::printable(pattern) + "': " + parsed.error().what);
    }
  }
  workers.metrics = std::move(patterns);
  return {};
}

base::Status plan_checkpoints(const Settings& settings, wire::WorkerTemplate& workers) {
  std::vector<std::string> globs = parse_filters(settings.text(OptionId::kCheckpoints));
  if (globs.size() > kCheckpointGlobsMax) {
    return cannot_use(settings, OptionId::kCheckpoints,
                      fmt::format("more than {} patterns", kCheckpointGlobsMax));
  }
  for (const std::string& glob : globs) {
    if (const auto checked = agent::check_checkpoint_glob(glob); !checked) {
      return cannot_use(settings, OptionId::kCheckpoints,
                        "'" + base::printable(glob) + "': " + checked.error().what);
    }
  }
  workers.checkpoint_globs = std::move(globs);
  return {};
}

}  // namespace

std::string python_folder(const Surroundings& around) {
  const auto bin = around.executable.rfind('/');
  const auto prefix = around.executable.rfind('/', bin == 0 ? 0 : bin - 1);
  return around.executable.substr(0, prefix) + "/share/robustrun/python";
}

Result<wire::WorkerTemplate> plan_workers(const Settings& settings, const Surroundings& around,
                                          const Program& program, const Places& places,
                                          const NodesPlan& nodes) {
  wire::WorkerTemplate workers;
  workers.mode = program.mode;
  workers.interpreter = program.interpreter;
  workers.program = program.script;
  workers.arguments = settings.arguments;
  for (const std::string& entry : around.environment) {
    if (!is_denied_variable(entry.substr(0, entry.find('=')))) workers.environment.push_back(entry);
  }
  workers.working_directory = around.working_directory;
  workers.python_path = RR_TRY(python_path(settings, program.mode, around));
  workers.log_directory = places.log_directory;
  workers.run_id = places.elastic_id;
  workers.role = settings.text(OptionId::kRole);
  workers.numa_binding = settings.text(OptionId::kNumaBinding);
  if (settings.text(OptionId::kNumaMemory) != "off") {
    workers.numa_memory = settings.text(OptionId::kNumaMemory);
  }
  RR_TRY(check_omp(settings));
  workers.omp = settings.text(OptionId::kOmp);
  workers.trace = settings.text(OptionId::kTrace) != "off";
  workers.health = settings.text(OptionId::kHealth) != "off";
  workers.trace_dispatcher = settings.text(OptionId::kTrace) == "dispatcher";
  // torchrun's variable for the same choice.
  const bool shares = around.variable("TORCH_DISABLE_SHARE_RDZV_TCP_STORE") != "1";
  workers.agent_store =
      settings.text(OptionId::kStore) == "agent" && (shares || settings.has(OptionId::kStore));
  workers.standby = standby_mode(settings.text(OptionId::kStandby));
  workers.tell_modules = workers.standby != wire::StandbyMode::kOff;
  workers.checkpoints = true;
  workers.overlap_saves = true;
  workers.tell_moved = true;
  workers.stages = true;
  RR_TRY(plan_startup(settings, around, nodes.way == NodesPlan::Way::kLocal, workers));
  RR_TRY(plan_stage(settings, around, workers));
  workers.stdout_filters = parse_filters(settings.text(OptionId::kDuplicateStdoutFilters));
  workers.stderr_filters = parse_filters(settings.text(OptionId::kDuplicateStderrFilters));
  RR_TRY(plan_line_metrics(settings, around, workers));
  RR_TRY(plan_checkpoints(settings, workers));
  workers.signals_to_handle = settings.text(OptionId::kSignalsToHandle);
  workers.max_restarts =
      static_cast<std::uint32_t>(settings.integer(OptionId::kMaxRestarts).value_or(0));
  workers.stack_signal = RR_TRY(stack_signal(settings, !workers.python_path.empty()));
  workers.compat = settings.compat();
  workers.virtual_local_rank = settings.flag(OptionId::kVirtualLocalRank);
  if (const auto rank = settings.integer(OptionId::kStdin)) {
    if (program.workers != 0 && *rank >= program.workers) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("cannot use {}: the ranks are 0 to {}",
                              settings.written(OptionId::kStdin), program.workers - 1));
    }
    workers.stdin_rank = static_cast<std::uint32_t>(*rank);
  }
  return workers;
}

}  // namespace robustrun::cli
