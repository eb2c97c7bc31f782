#pragma once
// Decides whether a host's key is trusted, by known_hosts and StrictHostKeyChecking. Pure.

#include <string>
#include <string_view>

#include "launcher/ssh/target.h"
#include "launcher/ssh_link.h"

namespace robustrun::launcher {

struct HostKeyDecision {
  SshTrouble trouble = SshTrouble::kNone;  // kNone: the key is accepted
  // why the key is refused; with kNone a warning to log, or empty
  std::string what;
  std::string line_to_store;               // for the user's first known_hosts file; empty: none
};
// `blob`: the raw public key that the server has shown.
[[nodiscard]] HostKeyDecision decide_host_key(const SshTarget& target, std::string_view blob);

}  // namespace robustrun::launcher
