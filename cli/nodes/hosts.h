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
// Whether no option names other machines than the job of a scheduler has; never with
// --compat=torchrun. --launcher is left to the caller.
[[nodiscard]] bool leaves_hosts_open(const Settings& settings);

// In rank order: natural order, --rank0 first. Without --hosts and --hostfile the hosts of
// `allocation`, which may be empty. Host::slots is 0 where --nproc-per-node counts: because it was
// given, or because the host file has no slots.
[[nodiscard]] base::Result<std::vector<launcher::Host>> plan_hosts(
    const Settings& settings, const Surroundings& around,
    std::vector<launcher::Host> allocation = {});

// Whether `host` is this machine and needs no SSH: "localhost", or its own name.
[[nodiscard]] bool is_this_machine(const launcher::Host& host, const Surroundings& around);

}  // namespace robustrun::cli
