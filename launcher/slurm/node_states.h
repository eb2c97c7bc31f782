#pragma once
// What Slurm plans for nodes that run a job: to drain, reboot or maintain them.
//
// Tested with Slurm 22.05: `scontrol show node --oneliner` has State=ALLOCATED+DRAIN and, at the
// end, Reason=bad disk [root@2026-11-27T07:00:00].

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "launcher/slurm/command.h"

namespace robustrun::launcher {

struct SlurmNodeState {
  std::string name;
  std::string trouble;  // "it is draining (bad disk)", printable; empty: nothing is planned
};

// `shown`: output of `scontrol show node --oneliner`. Lines that cannot be read are left out. Pure.
[[nodiscard]] std::vector<SlurmNodeState> read_node_states(std::string_view shown);

// A lane of the caller's blocking pool for ask_node_states(); other lanes may be busy for long.
inline constexpr std::uint32_t kNodeStatesLane = 0x5348'1004;

// Asks scontrol about `nodes`, kSlurmNodesAtOnce in each call. Blocks for at most kSlurmCommandWait
// per call.
[[nodiscard]] base::Result<std::vector<SlurmNodeState>> ask_node_states(
    const SlurmOptions& options, const std::vector<std::string>& nodes);

}  // namespace robustrun::launcher
