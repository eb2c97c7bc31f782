#pragma once
// On which machines a run is to be, how its agents get there, and how they find each other:
// --nnodes, --hosts and its relatives, --launcher, --rdzv-*, everything about SSH, secrets and
// leases. All of it checked, nothing made or connected yet.
//
// Pure but for questions to Surroundings::machine and Surroundings::network. Errors are whole
// sentences for the user, exit code 2.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "cli/nodes/rendezvous.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "launcher/hosts/host.h"
#include "launcher/slurm/command.h"
#include "launcher/ssh/launcher.h"
#include "supervisor/run_request.h"

namespace robustrun::cli {

using supervisor::RankRange;

// Why a node that was not started by us may join.
enum class Trust : std::uint8_t {
  kSecret,  // it knows NodesPlan::secret
  kMunge,   // munge says that it is of the same user
  kNone,    // --insecure-rdzv, or torchrun's way
};

struct NodesPlan {
  enum class Way : std::uint8_t {
    kLocal,       // one agent, here
    kProcesses,   // several agents, here
    kSsh,
    kSlurm,       // by srun, onto the nodes of an allocation
    kRendezvous,  // `meeting` says whether the supervisor is here
  };
  Way way = Way::kLocal;
  // In rank order, spares last. kProcesses: invented names; kRendezvous: none; kLocal: none, or
  // this machine as --hosts names it. Host::slots 0: as --nproc-per-node says.
  std::vector<launcher::Host> hosts;
  std::vector<launcher::Host> unused;  // named beyond --nnodes and --spares, in that order
  std::uint32_t min_nodes = 1;
  std::uint32_t max_nodes = 1;
  std::uint32_t spares = 0;
  // kSsh. `bundle` is left to the caller.
  launcher::SshOptions ssh;
  // kRendezvous
  std::optional<Meeting> meeting;
  Trust trust = Trust::kNone;
  std::string invitation;  // within a step: the file that tells guests where to join; else empty
  std::string secret;  // with Trust::kSecret: the bytes of --secret-file

  launcher::SlurmOptions slurm;  // kSlurm; run_id and folder are left to the caller
  std::uint32_t gpus_per_node = 0;  // of Slurm, where --nproc-per-node was not given; 0: none
  std::string interface;  // --iface
  std::uint64_t copies_rate = 0;  // bytes/s; --copies-rate
  std::uint64_t peers_rate = 0;  // bytes/s; --peers-rate
  supervisor::LeaseTimes lease;
  base::Nanos wait_for_nodes{};
  std::optional<base::Nanos> last_call;    // kRendezvous: of --rdzv-conf
  std::set<std::string> offenders;  // of `hosts`, by name (supervisor/core/status/node_standing.h)
  std::string history;  // folder for what the run learns of its hosts; empty: it is not kept
  bool fold_lines = false;
  std::vector<RankRange> shown_ranks;  // ascending, apart; empty: all
  std::optional<std::uint64_t> expect_world;
  std::vector<std::string> warnings;

  // For plan_rendezvous().
  [[nodiscard]] Where where() const;
};

[[nodiscard]] base::Result<NodesPlan> plan_nodes(const Settings& settings,
                                                 const Surroundings& around);

// Refuses what --expect-world forbids, as far as it is known before the start (the core judges the
// rest): `workers` is the count on a host that does not say its own, 0 when it counts for itself. A
// rendezvous is judged by its largest size.
[[nodiscard]] base::Status check_world(const Settings& settings, const NodesPlan& plan,
                                       std::uint32_t workers);

// "0,8-15"; the error is a cause without a subject.
[[nodiscard]] base::Result<std::vector<RankRange>> parse_rank_ranges(std::string_view text);

}  // namespace robustrun::cli
