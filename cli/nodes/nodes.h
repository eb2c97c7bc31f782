#pragma once
// The machines of a run, how agents get there, and how they find each other: --nnodes, --hosts and
// related options, --launcher, --rdzv-*, SSH, secrets and leases. Checks everything; makes nothing
// and connects to nothing.
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
#include "launcher/allocation/batch_job.h"
#include "launcher/hosts/host.h"
#include "launcher/slurm/command.h"
#include "launcher/ssh/launcher.h"
#include "supervisor/run_request.h"

namespace robustrun::cli {

using supervisor::RankRange;

// Why a node that was started by hand may join.
enum class Trust : std::uint8_t {
  kSecret,  // it knows NodesPlan::secret
  kMunge,   // munge proves that its process is of the same user
  kNone,    // no proof: --insecure-rdzv, or compat mode
};

struct NodesPlan {
  enum class Way : std::uint8_t {
    kLocal,       // one agent, on this machine
    kProcesses,   // several agents on this machine
    kSsh,
    kSlurm,       // by srun, onto the nodes of an allocation
    kRendezvous,  // `meeting` shows whether the supervisor is here
  };
  Way way = Way::kLocal;
  // In rank order, spares last. kProcesses: as named, or else generated names; kRendezvous: empty;
  // kLocal: empty, or this machine as --hosts names it. Host::slots 0: --nproc-per-node applies.
  std::vector<launcher::Host> hosts;
  std::vector<launcher::Host> unused;  // more than --nnodes and --spares need, in their order
  std::uint32_t min_nodes = 1;
  std::uint32_t max_nodes = 1;
  std::uint32_t spares = 0;
  // kSsh; the caller sets `bundle`.
  launcher::SshOptions ssh;
  // kRendezvous
  std::optional<Meeting> meeting;
  Trust trust = Trust::kNone;
  std::string join_token;  // path of the token's file, by which the tasks of an srun find their
                           // leader; else empty
  std::string secret;  // the bytes of --secret-file; empty in a task of an srun

  launcher::SlurmOptions slurm;  // kSlurm; the caller sets run_id and folder
  launcher::BatchJob batch;  // of PBS, LSF or Grid Engine, if its hosts are used; empty id: none
  std::uint32_t replace = 0;  // kSlurm: nodes that may be asked for in place of lost ones
  std::uint32_t gpus_per_node = 0;  // from Slurm, without --nproc-per-node; 0: none
  std::string interface;  // --iface
  std::uint64_t copies_rate = 0;  // bytes/s; --copies-rate
  std::uint64_t peers_rate = 0;  // bytes/s; --peers-rate
  supervisor::LeaseTimes lease;
  base::Nanos wait_for_nodes{};
  std::optional<base::Nanos> last_call;  // kRendezvous: last_call_timeout of --rdzv-conf
  std::set<std::string> offenders;  // names of repeat offenders among `hosts`
  std::string history;  // folder for notes about the hosts; empty: none are kept
  bool fold_lines = false;
  std::vector<RankRange> shown_ranks;  // ascending and disjoint; empty: all
  std::optional<std::uint64_t> expect_world;
  std::vector<std::string> warnings;

  // For plan_rendezvous().
  [[nodiscard]] Where where() const;
};

// The --ssh-* options; the caller sets `bundle`.
[[nodiscard]] base::Result<launcher::SshOptions> plan_ssh(const Settings& settings,
                                                          const Surroundings& around);

[[nodiscard]] base::Result<NodesPlan> plan_nodes(const Settings& settings,
                                                 const Surroundings& around);

// Checks --expect-world as far as the world size is known before the start; the core checks the
// rest. `workers`: for hosts that name no number of their own; 0: such hosts find their number only
// at the start, and nothing is checked here. A rendezvous is taken at its largest size.
[[nodiscard]] base::Status check_world(const Settings& settings, const NodesPlan& plan,
                                       std::uint32_t workers);

// "0,8-15"; the error is a cause without a subject.
[[nodiscard]] base::Result<std::vector<RankRange>> parse_rank_ranges(std::string_view text);

}  // namespace robustrun::cli
