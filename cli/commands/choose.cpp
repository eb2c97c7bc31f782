#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/commands/commands.h"

namespace robustrun::cli {

Choice choose_command(std::span<const std::string> argv, const Surroundings& around) {
  struct Name {
    const char* word;
    Command command;
  };
  constexpr auto kNames = std::to_array<Name>({
      {"run", Command::kRun},         {"report", Command::kReport},
      {"inject", Command::kInject},   {"resume", Command::kResume},
      {"status", Command::kStatus},   {"top", Command::kTop},
      {"stop", Command::kStop},       {"attach", Command::kAttach},
      {"submit", Command::kSubmit},   {"help", Command::kHelp},
      {"version", Command::kVersion}, {"check", Command::kCheck},
      {"plan", Command::kPlan},       {"diagnose", Command::kDiagnose},
      {"nodes", Command::kNodes},     {"policy", Command::kPolicy},
      {"update", Command::kUpdate},   {"replay", Command::kReplay},
      {"ckpt", Command::kCkpt},       {"cache", Command::kCache},
      {"data", Command::kData},       {"sim", Command::kSim},
      {"ls", Command::kLs},           {"logs", Command::kLogs},
      {"rm", Command::kRm},           {"demo", Command::kDemo},
      {"doctor", Command::kDoctor},   {"completion", Command::kCompletion},
      {"requeue", Command::kRequeue}, {"k8s", Command::kKubernetes},
  });
  const Choice run{Command::kRun, argv, {}};
  if (argv.empty() || is_name_of_torch(around.program_name)) return run;
  const auto found =
      std::ranges::find_if(kNames, [&](const Name& name) { return argv.front() == name.word; });
  if (found == kNames.end()) return run;
  const std::string path = around.working_directory + "/" + argv.front();
  const PathKind kind = around.machine->kind(path);
  const bool is_folder = kind == PathKind::kDirectory || kind == PathKind::kEmptyDirectory;
  // Python can run a folder with this file; any other folder is data.
  const bool is_program = is_folder
                              ? around.machine->kind(path + "/__main__.py") != PathKind::kMissing
                              : kind == PathKind::kFile || kind == PathKind::kUnreadableFile;
  Choice choice{found->command, argv.subspan(1), {}};
  if (!is_program) return choice;
  if (kind == PathKind::kUnreadableFile) {
    choice.passed_over =
        fmt::format("{} in this directory cannot be read and is not started", argv.front());
  } else if (around.machine->is_others(path)) {
    choice.passed_over = fmt::format(
        "{0} in this directory belongs to another user and is not started; `robustrun ./{0}` "
        "starts it",
        argv.front());
  } else {
    return run;
  }
  return choice;
}

}  // namespace robustrun::cli
