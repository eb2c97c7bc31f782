#pragma once
// The hosts of a run, from --hosts or --hostfile, --include, --exclude, --rank0 and
// --nproc-per-node. Reads the file through Surroundings::machine; pure otherwise.

#include <vector>

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "launcher/hosts/host.h"

namespace robustrun::cli {

// Whether the user names hosts at all.
[[nodiscard]] bool names_hosts(const Settings& settings);
// Whether the options leave the choice of hosts to a scheduler's job, because none of them names
// machines. False with --compat=torchrun. The caller must check --launcher.
[[nodiscard]] bool leaves_hosts_open(const Settings& settings);

// The hosts in rank order: that of --rank0, then the others in natural order (n2 before n10).
// Without --hosts and --hostfile these are the hosts of `allocation`, which may be empty.
// Host::slots is 0 where --nproc-per-node applies: because it was given, or because the host file
// has no slots. Errors name the option as the user wrote it, or the line of the host file.
[[nodiscard]] base::Result<std::vector<launcher::Host>> plan_hosts(
    const Settings& settings, const Surroundings& around,
    std::vector<launcher::Host> allocation = {});

// Whether `host` is this machine and needs no SSH: its own name, "localhost", "127.0.0.1" or
// "[::1]", without a user and without a port.
[[nodiscard]] bool is_this_machine(const launcher::Host& host, const Surroundings& around);

}  // namespace robustrun::cli
