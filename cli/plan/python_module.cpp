#include "cli/plan/python_module.h"

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <filesystem>
#include <functional>

#include "base/io/child.h"
#include "cli/plan/program.h"

namespace robustrun::cli {
namespace {

// PYTHONSAFEPATH keeps modules of the working directory out.
std::vector<std::string> environment_with(const Surroundings& around, const std::string& package) {
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

base::Result<int> run_python_module(const std::string& module,
                                    std::span<const std::string> arguments,
                                    const Surroundings& around) {
  const std::string interpreter = RR_TRY(find_interpreter(around));
  const std::string prefix =
      std::filesystem::path(around.executable).parent_path().parent_path().string();
  base::ChildOptions options;
  options.executable = interpreter;
  options.argv = {interpreter, "-m", module};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  options.environment = environment_with(around, prefix + "/share/robustrun/python");
  options.descriptors = {-1, STDOUT_FILENO, STDERR_FILENO};
  options.new_session = false;
  boost::asio::io_context loop;
  boost::asio::signal_set signals(loop, SIGINT, SIGTERM);
  base::ExitStatus ended;
  const auto child =
      RR_TRY(base::Child::spawn(loop.get_executor(), options, [&](base::ExitStatus status) {
        ended = status;
        signals.cancel();
      }));
  // This process ends with the module, which removes what is unfinished. Ctrl-C reaches both.
  const std::function<void(const boost::system::error_code&, int)> on_signal =
      [&](const boost::system::error_code& error, int signal) {
        if (error) return;
        if (signal == SIGTERM) static_cast<void>(child->signal(signal));
        signals.async_wait(on_signal);
      };
  signals.async_wait(on_signal);
  loop.run();
  return ended.shell_code();
}

}  // namespace robustrun::cli
