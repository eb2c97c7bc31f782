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

// In rank order: naturally sorted, --rank0 first. Those of `allocation` when none are named, which
// may be empty. Host::slots is 0 where --nproc-per-node counts: where it was given, or the host
// file says nothing.
[[nodiscard]] base::Result<std::vector<launcher::Host>> plan_hosts(
    const Settings& settings, const Surroundings& around,
    std::vector<launcher::Host> allocation = {});

// Nothing else than this very machine, reached without SSH: "localhost", its own name.
[[nodiscard]] bool is_this_machine(const launcher::Host& host, const Surroundings& around);

}  // namespace robustrun::cli
