#pragma once
// What the ssh client says about a host (`ssh -G`), and about which others it would say the same.

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
  std::optional<SshConfigScope> scope;  // none: the answer is for `asked` alone

  // What the client would answer for `host` (without brackets); none: it has to be asked.
  [[nodiscard]] std::optional<std::string> text_for(const Host& host) const;
};

// Blocks for at most kSshClientWait: for the pool. `client`: the ssh command, absolute.
//
// The scope is that of the files which the client says it reads. A client that is a script, or
// is given options about names, may tell hosts apart by itself: then there is none.
base::Result<SshAnswer> ask_ssh(const std::vector<std::string>& client, const Host& host);

}  // namespace robustrun::launcher
