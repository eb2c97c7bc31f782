#pragma once
// What the ssh client reports about a host (`ssh -G`), and the other hosts for which that holds.

#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "launcher/hosts/host.h"
#include "launcher/ssh/config_scope.h"

namespace robustrun::launcher {

struct SshAnswer {
  Host asked;        // without brackets
  std::string text;  // all of the client's standard output, for parse_ssh_settings()
  std::optional<SshConfigScope> scope;  // none: the answer holds for `asked` only

  // What the client would answer for `host` (without brackets); nullopt: it must be asked.
  [[nodiscard]] std::optional<std::string> text_for(const Host& host) const;
};

// Blocks for at most kSshClientWait: call it on the pool. `client`: the ssh command, absolute.
//
// The scope is derived from the configuration files that the client reports. There is none if the
// client is a script, or if its options contain `%` or HostName: it may then treat hosts
// differently whatever the files say.
base::Result<SshAnswer> ask_ssh(const std::vector<std::string>& client, const Host& host);

}  // namespace robustrun::launcher
