#pragma once
// Decides whether a host's key is trusted, and words the refusal. Pure.

#include <string>
#include <string_view>

#include "launcher/ssh/target.h"
#include "launcher/ssh_link.h"

namespace robustrun::launcher {

struct HostKeyDecision {
  SshTrouble trouble = SshTrouble::kNone;  // kNone: continue
  std::string what;                        // the refusal, or a warning to log
  std::string line_to_store;               // for the user's first known_hosts file; empty: none
};
// `blob`: the raw public key that the server has shown.
[[nodiscard]] HostKeyDecision decide_host_key(const SshTarget& target, std::string_view blob);

}  // namespace robustrun::launcher
