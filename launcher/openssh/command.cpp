#include "launcher/openssh/command.h"

#include <algorithm>

#include "launcher/limits.h"

namespace robustrun::launcher {
namespace {

bool is_of_scheduler(const std::string& program) {
  const std::string name = program.substr(program.rfind('/') + 1);
  return name == "qrsh" || name == "blaunch";
}

}  // namespace

std::vector<std::string> openssh_argv(const std::vector<std::string>& client, const Host& host,
                                      std::chrono::milliseconds connect_timeout,
                                      const SshCommand& command) {
  const auto seconds = std::max<std::chrono::seconds>(
      std::chrono::ceil<std::chrono::seconds>(connect_timeout), std::chrono::seconds(1));
  std::vector<std::string> argv = client;
  if (is_of_scheduler(client.front())) {
    argv.insert(argv.end(), {host.name, command.text});
    return argv;
  }
  argv.insert(argv.end(),
              {"-v", "-T", "-x", "-a", "-oBatchMode=yes",
               "-oConnectTimeout=" + std::to_string(seconds.count()),
               "-oServerAliveInterval=" + std::to_string(kKeepaliveInterval.count()),
               "-oServerAliveCountMax=" + std::to_string(kKeepaliveGiveUp / kKeepaliveInterval),
               "-oControlMaster=no", "-oControlPath=none", "-oForwardAgent=no",
               "-oClearAllForwardings=yes", "-oRemoteCommand=none"});
  if (!host.user.empty()) argv.insert(argv.end(), {"-l", host.user});
  if (host.port != 0) argv.insert(argv.end(), {"-p", std::to_string(host.port)});
  if (command.subsystem) argv.emplace_back("-s");
  const bool bracketed = host.name.starts_with('[') && host.name.ends_with(']');
  argv.insert(argv.end(), {"--", bracketed ? host.name.substr(1, host.name.size() - 2) : host.name,
                           command.text});
  return argv;
}

}  // namespace robustrun::launcher
