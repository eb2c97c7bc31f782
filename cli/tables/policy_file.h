#pragma once
// Reads the core's policy for faults from TOML (docs/policy.md). Pure, except for questions to
// Surroundings::machine.
//
//   [ladder]    evict, tolerate, restart, "roll back", check, "give up", replay: arrays of steps
//   [tolerate], [blame]   times, within      [suspect]   within
//   [forget]    after                        [check]     depth
//   [resume]    poison_after, poison_steps   [replay]    limit, unit
//   [metrics]   nan, jump, times             [hangs]     still
//   [drain]     act                          [slow]      rounds, every, drain_within,
//                                                        assumed_remaining, assumed_price
//
// `within`, `after`, `limit`, `still`, and all of [slow] but `rounds` are durations such as "5m".

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "supervisor/core/types/policy.h"

namespace robustrun::cli {

// Returns `policy` with the changes in the text. Errors are "PATH:LINE:COLUMN: what": an unknown
// key (with the nearest one), a wrong type, an unknown step, an empty ladder.
[[nodiscard]] base::Result<supervisor::Policy> parse_policy(std::string_view text,
                                                            const std::string& path,
                                                            supervisor::Policy policy = {});

// configs/policy.toml at build time.
[[nodiscard]] std::string_view built_in_policy();

// The policy of share/robustrun/policy.toml in the program's prefix (if missing, the built-in
// policy) with the changes in --policy. With --compat=torchrun: a policy without ladders.
[[nodiscard]] base::Result<supervisor::Policy> plan_policy(const Settings& settings,
                                                           const Surroundings& around);

// --replay-cmd as argv; empty: the alignment test (docs/alignment.md).
[[nodiscard]] base::Result<std::vector<std::string>> plan_replay_command(const Settings& settings);

}  // namespace robustrun::cli
