// torchrun's options (docs/compat.md), in the order of OptionId.

#include <array>

#include "cli/options/options_rows.h"

namespace robustrun::cli {
namespace {

using enum OptionId;
using enum Type;
using enum Group;

// clang-format off
constexpr auto kTorchrunRows = std::to_array<Option>({
  {.id = kNnodes, .name = "nnodes", .type = kWord, .values = "N|MIN:MAX", .native = "1:1",
   .group = kWhat, .torchrun = true,
   .help = "Number of nodes, or the least and the most. With --hosts the default is all of them "
           "but the spares."},
  {.id = kNprocPerNode, .name = "nproc-per-node", .type = kWord, .values = "N|auto|cpu|gpu|xpu",
   .native = "1", .group = kWhat, .torchrun = true,
   .help = "Workers per node: a number, cpu (one per processor we may use), gpu, xpu, or auto (one "
           "per accelerator, without any one per processor)."},
  {.id = kRdzvBackend, .name = "rdzv-backend", .values = "static|c10d", .native = "static",
   .group = kRendezvous, .torchrun = true,
   .help = "How nodes find each other when the same command is started on each: static "
           "(--node-rank, --master-addr) or c10d (--rdzv-endpoint alone). On one node both mean "
           "the same, and with --hosts nobody has to be found."},
  {.id = kRdzvEndpoint, .name = "rdzv-endpoint", .values = "HOST[:PORT]", .native = "",
   .group = kRendezvous, .torchrun = true,
   .help = "Where nodes meet, the same on each; the machine of that address leads. With static "
           "it is MASTER_ADDR and MASTER_PORT. IPv6 in brackets: [::1]:29500."},
  {.id = kRdzvId, .name = "rdzv-id", .type = kWord, .values = "ID", .native = "none",
   .group = kRendezvous, .torchrun = true,
   .help = "The run's id (TORCHELASTIC_RUN_ID), the same on every node. Without it one is made "
           "of date and time."},
  {.id = kRdzvConf, .name = "rdzv-conf", .values = "K=V,...", .native = "", .group = kRendezvous,
   .torchrun = true,
   .help = "Settings of the rendezvous: join_timeout, last_call_timeout, is_host. Others are "
           "accepted without effect, as all are on one node."},
  {.id = kStandalone, .name = "standalone", .type = kFlag, .group = kRendezvous, .torchrun = true,
   .help = "One node and a free port. This is what happens anyway when no port is given."},
  {.id = kMaxRestarts, .name = "max-restarts", .type = kInteger, .values = "N", .native = "3",
   .compat = "0", .group = kFailures, .torchrun = true, .min = 0, .max = 1'000'000,
   .help = "How often the workers are started again after a failure, within --restart-window."},
  {.id = kMonitorInterval, .name = "monitor-interval", .type = kNumber, .values = "SECONDS",
   .native = "0.1", .group = kFailures, .torchrun = true, .min = 0,
   .help = "Accepted; nothing is polled: the end of a worker is seen at once."},
  {.id = kStartMethod, .name = "start-method", .type = kChoice, .values = "spawn|fork|forkserver",
   .native = "spawn", .group = kWhat, .torchrun = true,
   .help = "Accepted; workers are always fresh processes."},
  {.id = kEventLogHandler, .name = "event-log-handler", .values = "NAME", .native = "null",
   .group = kOutput, .torchrun = true,
   .help = "Accepted with null alone; the journal of the run holds every event."},
  {.id = kRole, .name = "role", .values = "NAME", .native = "default", .group = kWhat,
   .torchrun = true, .help = "Role of the workers: ROLE_NAME, and part of the prefix of --tee."},
  {.id = kModule, .name = "module", .short_name = 'm', .type = kFlag, .group = kWhat,
   .torchrun = true, .help = "SCRIPT is a module: python -m SCRIPT."},
  {.id = kNoPython, .name = "no-python", .type = kFlag, .group = kWhat, .torchrun = true,
   .help = "SCRIPT is a program: run it without an interpreter."},
  {.id = kRunPath, .name = "run-path", .type = kFlag, .group = kWhat, .torchrun = true,
   .help = "Run SCRIPT with runpy.run_path; wins over --no-python."},
  {.id = kLogDir, .name = "log-dir", .values = "DIR", .group = kOutput, .torchrun = true,
   .help = "Where log files go: DIR/<id>_<node>_<random>. Default: logs/ in the run directory. "
           "/dev/null: no files."},
  {.id = kRedirects, .name = "redirects", .short_name = 'r', .type = kWord,
   .values = "0-3|RANK:0-3,...", .native = "0", .group = kOutput, .torchrun = true,
   .help = "Streams that go to a file and not to the console: 1 stdout, 2 stderr, 3 both; for all "
           "workers, or by local rank."},
  {.id = kTee, .name = "tee", .short_name = 't', .type = kWord, .values = "0-3|RANK:0-3,...",
   .native = "0", .group = kOutput, .torchrun = true,
   .help = "Streams that go to a file and, with a prefix, to the console; as --redirects."},
  {.id = kLocalRanksFilter, .name = "local-ranks-filter", .type = kList, .values = "RANK,...",
   .native = "", .group = kOutput, .torchrun = true,
   .help = "Show only these local ranks on the console. Files are not affected."},
  {.id = kDuplicateStdoutFilters, .name = "duplicate-stdout-filters", .type = kFilters,
   .values = "TEXT,...", .native = "", .group = kOutput, .torchrun = true,
   .help = "Lines of stdout that hold one of these texts also go to filtered_stdout.log; ,, is a "
           "comma."},
  {.id = kDuplicateStderrFilters, .name = "duplicate-stderr-filters", .type = kFilters,
   .values = "TEXT,...", .native = "", .group = kOutput, .torchrun = true,
   .help = "The same for stderr and filtered_stderr.log."},
  {.id = kNodeRank, .name = "node-rank", .type = kInteger, .values = "N", .native = "0",
   .group = kRendezvous, .torchrun = true, .min = 0, .max = kRankMax,
   .help = "Rank of this node, with static; node 0 leads."},
  {.id = kMasterAddr, .name = "master-addr", .values = "HOST", .native = "127.0.0.1",
   .group = kRendezvous, .torchrun = true,
   .help = "MASTER_ADDR with static and without --rdzv-endpoint."},
  {.id = kMasterPort, .name = "master-port", .type = kInteger, .values = "PORT",
   .group = kRendezvous, .torchrun = true, .min = 0, .max = kPortMax,
   .help = "MASTER_PORT with static. On one node, without it (or 0), every attempt gets a free "
           "port. On several it is 29500, and the next port is ours."},
  {.id = kLocalAddr, .name = "local-addr", .values = "HOST", .group = kRendezvous,
   .torchrun = true, .help = "Address of this node, for MASTER_ADDR."},
  {.id = kLogsSpecs, .name = "logs-specs", .values = "NAME", .group = kOutput, .torchrun = true,
   .variable = false, .help = "Accepted with default alone: others are Python plug-ins."},
  {.id = kNumaBinding, .name = "numa-binding", .type = kChoice,
   .values = "node|socket|exclusive|core-complex", .group = kWhat, .torchrun = true,
   .variable = false, .help = "Bind workers to the processors near their GPUs."},
  {.id = kSignalsToHandle, .name = "signals-to-handle", .type = kList, .values = "NAME,...",
   .native = "SIGTERM,SIGINT,SIGHUP,SIGQUIT", .group = kFailures, .torchrun = true,
   .help = "Signals that end the run; they are passed on to the workers first."},
  {.id = kShutdownTimeout, .name = "shutdown-timeout", .type = kDuration, .values = "SECONDS",
   .native = "30", .group = kFailures, .torchrun = true,
   .fallback = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT", .min = 0,
   .help = "Time between the signal that asks workers to end and SIGKILL."},
  {.id = kVirtualLocalRank, .name = "virtual-local-rank", .type = kFlag, .group = kWhat,
   .torchrun = true, .help = "Every worker sees LOCAL_RANK=0 and, as device 0, its own GPU."},
  {.id = kUseEnv, .name = "use-env", .type = kFlag, .group = kWhat, .torchrun = true,
   .variable = false,
   .help = "Of torch.distributed.launch, and what happens anyway unless we are called by that "
           "name: workers read LOCAL_RANK. For a script that wants --local-rank, write "
           "SCRIPT '--local-rank=${local_rank}'."},
});
// clang-format on
static_assert(times_have_a_least_value(kTorchrunRows));

}  // namespace

std::span<const Option> torchrun_rows() { return kTorchrunRows; }

}  // namespace robustrun::cli
