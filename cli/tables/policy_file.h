#pragma once
// Reads from TOML (docs/policy.md) what is done about faults, to the policy that the core follows.
// Pure but for questions to Surroundings::machine.
//
//   [ladder]    evict, tolerate, restart, "roll back", check, "give up": arrays of steps
//   [tolerate], [blame]   times, within      [suspect]   within
//   [forget]    after                        [check]     depth
//   [resume]    poison_after, poison_steps

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "supervisor/core/types/policy.h"

namespace robustrun::cli {

// Returns `policy` with the changes of the text. Errors are "PATH:LINE:COLUMN: what": an unknown
// key (with the nearest one), a wrong type, an unknown step, an empty ladder.
[[nodiscard]] base::Result<supervisor::Policy> parse_policy(std::string_view text,
                                                            const std::string& path,
                                                            supervisor::Policy policy = {});

// configs/policy.toml at build time.
[[nodiscard]] std::string_view built_in_policy();

// ../share/robustrun/policy.toml beside the program (if missing, the built-in policy) with the
// changes of --policy. No ladders with --compat=torchrun.
[[nodiscard]] base::Result<supervisor::Policy> plan_policy(const Settings& settings,
                                                           const Surroundings& around);

// --replay-cmd as argv; empty: the alignment test.
[[nodiscard]] base::Result<std::vector<std::string>> plan_replay_command(const Settings& settings);

}  // namespace robustrun::cli
