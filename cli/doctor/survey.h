#pragma once
// The checks of `robustrun doctor` on several hosts, over SSH (launcher/ssh/errand.h).

#include <string>
#include <vector>

#include "cli/doctor/checks.h"
#include "cli/options/surroundings.h"
#include "launcher/hosts/host.h"
#include "launcher/ssh/launcher.h"

namespace robustrun::cli {

struct HostChecks {
  std::string host;           // as the user named it
  std::string error;          // why there are no checks; empty: there are some
  std::vector<Check> checks;  // in the order in which they are shown
};

// Answers in the order of `hosts`. Blocks until each host has answered or its deadlines have
// passed. From the call on, this process ignores SIGPIPE.
[[nodiscard]] std::vector<HostChecks> survey_hosts(const Surroundings& around,
                                                   const std::vector<launcher::Host>& hosts,
                                                   launcher::SshOptions ssh);

}  // namespace robustrun::cli
