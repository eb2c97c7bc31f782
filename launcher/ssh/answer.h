#pragma once
// What the ssh client reports about a host (`ssh -G`), and for which other hosts the report is
// valid.

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
  std::optional<SshConfigScope> scope;  // none: the answer is valid for `asked` only

  // What the client would print for `host` (without brackets); nullopt: the client must be asked.
  [[nodiscard]] std::optional<std::string> text_for(const Host& host) const;
};

// Asks the client. Blocks for at most kSshClientWait. `client`: the ssh command, absolute.
//
// SshAnswer::scope is derived from the configuration files that the client reports. It is empty if
// the client is a script, or if the client's options contain `%` or HostName: the client may then
// treat hosts differently whatever the files say.
base::Result<SshAnswer> ask_ssh(const std::vector<std::string>& client, const Host& host);

}  // namespace robustrun::launcher
