#include "cli/commands/ckpt_export.h"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>

#include "base/core/text.h"
#include "base/io/child.h"
#include "cli/commands/commands.h"
#include "cli/plan/program.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {
namespace {

// Our package comes first in PYTHONPATH. PYTHONSAFEPATH keeps modules of the working directory out.
std::vector<std::string> export_environment(const Surroundings& around,
                                            const std::string& package) {
  std::vector<std::string> environment{"PYTHONSAFEPATH=1"};
  std::string path = "PYTHONPATH=" + package;
  for (const std::string& each : around.environment) {
    if (each.starts_with("PYTHONPATH=") && each.size() > 11) {
      path += ":" + each.substr(11);
    } else if (!each.starts_with("PYTHONPATH=") && !each.starts_with("PYTHONSAFEPATH=")) {
      environment.push_back(each);
    }
  }
  environment.push_back(path);
  return environment;
}

}  // namespace

int export_checkpoint(const CkptLine& line, const Surroundings& around) {
  const auto interpreter = find_interpreter(around);
  if (!interpreter) return complain(interpreter.error());
  const std::string prefix =
      std::filesystem::path(around.executable).parent_path().parent_path().string();
  base::ChildOptions options;
  options.executable = *interpreter;
  options.argv = {*interpreter, "-m", "robustrun.export", "--to", *line.form};
  if (line.step) options.argv.push_back("--step=" + std::to_string(*line.step));
  if (line.rank) options.argv.push_back("--rank=" + std::to_string(*line.rank));
  options.argv.push_back("--");
  options.argv.insert(options.argv.end(), line.directories.begin(), line.directories.end());
  options.argv.push_back(line.out);
  options.environment = export_environment(around, prefix + "/share/robustrun/python");
  options.descriptors = {-1, STDOUT_FILENO, STDERR_FILENO};
  options.new_session = false;  // Ctrl-C reaches it too, and it removes its partial output
  boost::asio::io_context loop;
  base::ExitStatus ended;
  const auto child = base::Child::spawn(loop.get_executor(), options,
                                        [&ended](base::ExitStatus status) { ended = status; });
  if (!child) return complain(child.error());
  loop.run();
  return ended.shell_code();
}

}  // namespace robustrun::cli
