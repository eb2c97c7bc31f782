#pragma once
// The command lines for the OpenSSH client. Pure.

#include <chrono>
#include <string>
#include <vector>

#include "launcher/hosts/host.h"
#include "launcher/ssh_link.h"

namespace robustrun::launcher {

// `client`: the ssh command, split. The user's ssh_config stays in force, but for what would get
// between us and a plain command: sharing of connections, forwarding, questions. It is told to be
// verbose, for the fingerprint of a host key that it refuses (openssh_words.h drops the rest).
std::vector<std::string> openssh_argv(const std::vector<std::string>& client, const Host& host,
                                      std::chrono::milliseconds connect_timeout,
                                      const SshCommand& command);

}  // namespace robustrun::launcher
