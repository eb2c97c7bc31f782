#pragma once
// The command lines for the OpenSSH client. Pure.

#include <chrono>
#include <string>
#include <vector>

#include "launcher/hosts/host.h"
#include "launcher/ssh_link.h"

namespace robustrun::launcher {

// `client`: the ssh command, split into words; or qrsh or blaunch, which get only the host and the
// command. The user's ssh_config applies, except for settings that would interfere with a plain
// command: connection sharing, forwarding, prompts. The client is verbose, so that it prints the
// fingerprint of a host key that it refuses (openssh/words.h drops the other output).
std::vector<std::string> openssh_argv(const std::vector<std::string>& client, const Host& host,
                                      std::chrono::milliseconds connect_timeout,
                                      const SshCommand& command);

}  // namespace robustrun::launcher
