#include "agent/spawn/worker_command.h"

#include "agent/node/environment.h"
#include "base/core/text_template.h"

namespace robustrun::agent {
namespace {

using wire::LaunchMode;

// For `--run-path` without our boot module: sys.argv is [script, args…], as torchrun leaves it.
constexpr const char* kRunPathProgram =
    "import runpy, sys; sys.argv = sys.argv[1:]; "
    "runpy.run_path(sys.argv[0], run_name=\"__main__\")";

const char* boot_mode(LaunchMode mode) {
  switch (mode) {
    case LaunchMode::kScript: return "script";
    case LaunchMode::kModule: return "module";
    case LaunchMode::kRunPath: return "path";
    case LaunchMode::kExecutable: break;
  }
  RR_ASSERT(!"an executable has no boot mode");
  return "";
}

std::vector<std::string> worker_argv(const wire::WorkerTemplate& workers, unsigned local_rank) {
  std::vector<std::string> argv;
  if (workers.mode == LaunchMode::kExecutable) {
    argv = {workers.program};
  } else {
    argv = {workers.interpreter, "-u"};
    if (!workers.python_path.empty()) {
      argv.push_back(workers.python_path + "/robustrun/boot.py");
      argv.emplace_back(boot_mode(workers.mode));
    } else if (workers.mode == LaunchMode::kModule) {
      argv.emplace_back("-m");
    } else if (workers.mode == LaunchMode::kRunPath) {
      argv.emplace_back("-c");
      argv.emplace_back(kRunPathProgram);
    }
    argv.push_back(substitute_local_rank(workers.program, local_rank));
  }
  for (const std::string& argument : workers.arguments) {
    argv.push_back(substitute_local_rank(argument, local_rank));
  }
  return argv;
}

}  // namespace

std::string substitute_local_rank(const std::string& text, unsigned local_rank) {
  const std::string value = std::to_string(local_rank);
  const base::TemplateValue values[] = {{"local_rank", value}};
  return base::substitute(text, values);
}

base::Result<WorkerCommand> make_worker_command(const wire::WorkerTemplate& workers,
                                                const wire::StartWorkers& start,
                                                const wire::WorkerSlot& slot,
                                                const WorkerFiles& files, unsigned cpus) {
  WorkerCommand command;
  command.argv = worker_argv(workers, slot.local_rank.value);
  Environment env(workers.environment);
  const auto notice = RR_TRY(set_worker_variables(env, workers, start, slot, files, cpus));
  if (notice && slot.local_rank.value == 0) command.notices.push_back(*notice);
  command.environment = std::move(env).take();
  return command;
}

}  // namespace robustrun::agent
