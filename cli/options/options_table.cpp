#include "cli/options/options_table.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/core/result.h"
#include "cli/options/limits.h"

namespace robustrun::cli {
namespace {

using enum OptionId;
using enum Type;
using enum Group;

// clang-format off
constexpr auto kTable = std::to_array<Option>({
  // torchrun's (docs/compat.md)
  {.id = kNnodes, .name = "nnodes", .type = kWord, .values = "N|MIN:MAX", .native = "1:1",
   .group = kWhat, .torchrun = true,
   .help = "Number of nodes, or the least and the most. With --hosts the default is all hosts "
           "but the spares."},
  {.id = kNprocPerNode, .name = "nproc-per-node", .type = kWord, .values = "N|auto|cpu|gpu|xpu",
   .native = "1", .group = kWhat, .torchrun = true,
   .help = "Workers per node: a number, cpu (one per usable processor), gpu, xpu, or auto (one "
           "per accelerator; without accelerators one per processor)."},
  {.id = kRdzvBackend, .name = "rdzv-backend", .values = "static|c10d", .native = "static",
   .group = kRendezvous, .torchrun = true,
   .help = "How nodes find each other when the same command is started on each: static "
           "(--node-rank, --master-addr) or c10d (--rdzv-endpoint alone). No difference on one "
           "node, and not needed with --hosts."},
  {.id = kRdzvEndpoint, .name = "rdzv-endpoint", .values = "HOST[:PORT]", .native = "",
   .group = kRendezvous, .torchrun = true,
   .help = "Where nodes meet, the same on each; the machine with that address leads. With static "
           "it is MASTER_ADDR and MASTER_PORT. IPv6 in brackets: [::1]:29500."},
  {.id = kRdzvId, .name = "rdzv-id", .type = kWord, .values = "ID", .native = "none",
   .group = kRendezvous, .torchrun = true,
   .help = "The run's id (TORCHELASTIC_RUN_ID), the same on every node. Default: made from date "
           "and time."},
  {.id = kRdzvConf, .name = "rdzv-conf", .values = "K=V,...", .native = "", .group = kRendezvous,
   .torchrun = true,
   .help = "Settings of the rendezvous: join_timeout and is_host (c10d), timeout (static), "
           "last_call_timeout. Others are accepted without effect; on one node all are."},
  {.id = kStandalone, .name = "standalone", .type = kFlag, .group = kRendezvous, .torchrun = true,
   .help = "One node and a free port: the default if no port is given."},
  {.id = kMaxRestarts, .name = "max-restarts", .type = kInteger, .values = "N", .native = "3",
   .compat = "0", .group = kFailures, .torchrun = true, .min = 0, .max = 1'000'000,
   .help = "Maximum number of restarts after failures, within --restart-window."},
  {.id = kMonitorInterval, .name = "monitor-interval", .type = kNumber, .values = "SECONDS",
   .native = "0.1", .group = kFailures, .torchrun = true, .min = 0,
   .help = "Accepted without effect: the end of a worker is noticed at once, without polling."},
  {.id = kStartMethod, .name = "start-method", .type = kChoice, .values = "spawn|fork|forkserver",
   .native = "spawn", .group = kWhat, .torchrun = true,
   .help = "Accepted; workers are always fresh processes."},
  {.id = kEventLogHandler, .name = "event-log-handler", .values = "NAME", .native = "null",
   .group = kOutput, .torchrun = true,
   .help = "Accepted with null alone; the run's journal holds every event."},
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
           "/dev/null: no log files."},
  {.id = kRedirects, .name = "redirects", .short_name = 'r', .type = kWord,
   .values = "0-3|RANK:0-3,...", .native = "0", .group = kOutput, .torchrun = true,
   .help = "Streams that go to a file instead of the console: 1 stdout, 2 stderr, 3 both; for "
           "all workers, or by local rank."},
  {.id = kTee, .name = "tee", .short_name = 't', .type = kWord, .values = "0-3|RANK:0-3,...",
   .native = "0", .group = kOutput, .torchrun = true,
   .help = "Streams that go to a file and, with a prefix, to the console; values as for "
           "--redirects."},
  {.id = kLocalRanksFilter, .name = "local-ranks-filter", .type = kList, .values = "RANK,...",
   .native = "", .group = kOutput, .torchrun = true,
   .help = "Show only these local ranks on the console. Files are not affected."},
  {.id = kDuplicateStdoutFilters, .name = "duplicate-stdout-filters", .type = kFilters,
   .values = "TEXT,...", .native = "", .group = kOutput, .torchrun = true,
   .help = "Lines of stdout that contain one of these texts also go to filtered_stdout.log; ,, "
           "is a comma."},
  {.id = kDuplicateStderrFilters, .name = "duplicate-stderr-filters", .type = kFilters,
   .values = "TEXT,...", .native = "", .group = kOutput, .torchrun = true,
   .help = "The same for stderr and filtered_stderr.log."},
  {.id = kLogLinePrefixTemplate, .name = "log-line-prefix-template", .values = "TEXT",
   .native = "", .group = kOutput, .torchrun = true,
   .fallback = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE",
   .help = "Prefix of each line of workers, with ${role_name}, ${local_rank}, ${rank} and "
           "${hostname}. Default with --tee: [${role_name}${local_rank}]:"},
  {.id = kNodeRank, .name = "node-rank", .type = kInteger, .values = "N", .native = "0",
   .group = kRendezvous, .torchrun = true, .min = 0, .max = kRankMax,
   .help = "Rank of this node, with static; node 0 leads."},
  {.id = kMasterAddr, .name = "master-addr", .values = "HOST", .native = "127.0.0.1",
   .group = kRendezvous, .torchrun = true,
   .help = "MASTER_ADDR with static and without --rdzv-endpoint."},
  {.id = kMasterPort, .name = "master-port", .type = kInteger, .values = "PORT",
   .group = kRendezvous, .torchrun = true, .min = 0, .max = kPortMax,
   .help = "MASTER_PORT with static. On one node, without it (or with 0), every attempt gets a "
           "free port. On several nodes the default is 29500, and the next port is robustrun's."},
  {.id = kLocalAddr, .name = "local-addr", .values = "HOST", .group = kRendezvous,
   .torchrun = true, .help = "Address of this node, for MASTER_ADDR."},
  {.id = kLogsSpecs, .name = "logs-specs", .values = "NAME", .group = kOutput, .torchrun = true,
   .variable = false, .help = "Accepted with default alone; other values are Python plug-ins."},
  {.id = kNumaBinding, .name = "numa-binding", .type = kChoice,
   .values = "node|socket|exclusive|core-complex", .group = kWhat, .torchrun = true,
   .variable = false, .help = "Bind workers to the processors near their GPUs."},
  {.id = kSignalsToHandle, .name = "signals-to-handle", .type = kList, .values = "NAME,...",
   .native = "SIGTERM,SIGINT,SIGHUP,SIGQUIT", .group = kFailures, .torchrun = true,
   .help = "Signals that end the run; workers get them first."},
  {.id = kShutdownTimeout, .name = "shutdown-timeout", .type = kDuration, .values = "SECONDS",
   .native = "30", .group = kFailures, .torchrun = true,
   .fallback = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT", .min = 0,
   .help = "Time from the signal that asks workers to end until SIGKILL."},
  {.id = kVirtualLocalRank, .name = "virtual-local-rank", .type = kFlag, .group = kWhat,
   .torchrun = true, .help = "Every worker sees LOCAL_RANK=0 and its own GPU as device 0."},
  {.id = kUseEnv, .name = "use-env", .type = kFlag, .group = kWhat, .torchrun = true,
   .variable = false,
   .help = "For torch.distributed.launch; the default unless robustrun is called by that name: "
           "workers read LOCAL_RANK. For a script that needs --local-rank, write SCRIPT "
           "'--local-rank=${local_rank}'."},
  {.id = kPrintCompletion, .name = "print-completion", .type = kChoice, .values = "bash|zsh",
   .group = kSelf, .torchrun = true, .variable = false, .file = false,
   .help = "Print the script by which this shell completes command lines, and exit."},
  // robustrun's own
  {.id = kConfig, .name = "config", .short_name = 'c', .values = "FILE", .group = kSelf,
   .file = false, .help = "Read options from a TOML file; see configs/job.toml."},
  {.id = kPrintConfig, .name = "print-config", .type = kChoice, .values = "json|toml",
   .group = kSelf, .variable = false, .file = false,
   .help = "Print every option's value and where it comes from, and exit."},
  {.id = kDryRun, .name = "dry-run", .type = kFlag, .group = kSelf, .variable = false,
   .file = false, .help = "Print what would be started where, and exit. Nothing is made."},
  {.id = kCompat, .name = "compat", .type = kChoice, .values = "native|torchrun",
   .native = "native", .group = kSelf,
   .help = "torchrun: behave exactly as torchrun, even where native mode does better "
           "(docs/compat.md). The default if called by that name."},
  {.id = kRunDir, .name = "run-dir", .values = "DIR", .group = kSelf,
   .help = "Folder for the run's journal and logs. Default: ./robustrun-runs/<id>."},
  {.id = kTimeLimit, .name = "time-limit", .type = kDuration, .values = "TIME", .group = kFailures,
   .min = 1, .help = "End the run after this time with exit code 124, as timeout(1) does."},
  {.id = kStopAfterSteps, .name = "stop-after-steps", .type = kInteger, .values = "N",
   .group = kFailures, .min = 1,
   .help = "End the run with exit code 0 once every rank has done N steps."},
  {.id = kSummaryJson, .name = "summary-json", .values = "FILE", .group = kSelf,
   .help = "Write the report at the end of the run to this file as well."},
  {.id = kSummaryJunit, .name = "summary-junit", .values = "FILE", .group = kSelf,
   .help = "Write the outcome as JUnit XML to this file at the end of the run, for GitLab and "
           "others: a test case for each attempt."},
  {.id = kChildFailedBlock, .name = "child-failed-block", .type = kFlag, .group = kSelf,
   .help = "After a failure print torch's ChildFailedError block too, as --compat=torchrun does."},
  {.id = kRestartWindow, .name = "restart-window", .type = kDuration, .values = "TIME",
   .native = "1h", .compat = "0", .group = kFailures, .min = 0,
   .help = "After this time of progress the budget of --max-restarts is full again; 0: never."},
  {.id = kInject, .name = "inject", .type = kChoice, .values = "on|off", .native = "on",
   .compat = "off", .group = kWhat,
   .help = "on: start scripts through the boot module, which reports progress and dumps stacks. "
           "off: plain python -u."},
  {.id = kOmp, .name = "omp", .type = kWord, .values = "auto|torchrun|off|N", .native = "auto",
   .compat = "torchrun", .group = kWhat,
   .help = "OMP_NUM_THREADS if it is not set: auto (processors per worker), torchrun (1 with "
           "several workers), off, or a number."},
  {.id = kAccelerateConfig, .name = "accelerate-config", .values = "FILE", .group = kWhat,
   .help = "Give the workers the environment that `accelerate launch --config_file FILE` would. "
           "Its numbers of processes and machines count where --nproc-per-node and --nnodes are "
           "not given (docs/trainers.md)."},
  {.id = kStdin, .name = "stdin", .type = kInteger, .values = "RANK", .group = kWhat, .min = 0,
   .max = kRankMax,
   .help = "Connect standard input to this rank, on one machine. Other ranks read /dev/null."},
  {.id = kLinePrefix, .name = "line-prefix", .type = kChoice, .values = "auto|on|off",
   .native = "auto", .group = kOutput,
   .help = "Show the rank before each line of workers. auto: on a terminal, with several "
           "workers."},
  {.id = kLogFormat, .name = "log-format", .type = kChoice, .values = "human|json",
   .native = "human", .group = kSelf, .help = "Format of robustrun's own log on stderr."},
  {.id = kLogLevel, .name = "log-level", .type = kChoice, .values = "debug|info|warn|error|off",
   .native = "info", .compat = "warn", .group = kSelf, .fallback = "LOGLEVEL",
   .help = "Level of robustrun's own log."},
  {.id = kColour, .name = "colour", .alias = "color", .type = kChoice,
   .values = "auto|never|always", .native = "auto", .group = kSelf,
   .help = "Colour of robustrun's own output. auto: on a terminal, unless NO_COLOR is set."},
  {.id = kStackSignal, .name = "stack-signal", .values = "SIGNAL", .native = "SIGRTMIN+8",
   .group = kFailures,
   .help = "Real-time signal on which a script dumps its Python stacks beside its progress "
           "record; off: none."},
  {.id = kHosts, .name = "hosts", .type = kList, .values = "LIST", .group = kRendezvous,
   .help = "Run on these machines, over SSH: node[01-16],gpu-[a,b],user@host:2222,[fe80::1]:22. "
           "The number after the colon is ssh's port."},
  {.id = kHostfile, .name = "hostfile", .values = "FILE", .group = kRendezvous,
   .help = "Hosts from a file, one host or list per line: HOST slots=N (DeepSpeed, OpenMPI), "
           "HOST:N (MPICH: workers) or HOST. Slots are workers, unless --nproc-per-node is "
           "given."},
  {.id = kInclude, .name = "include", .values = "FILTER", .group = kRendezvous,
   .help = "Use only these of the hosts; DeepSpeed's node1@node2:0,1, or node[1-4]. Slots must "
           "begin with 0."},
  {.id = kExclude, .name = "exclude", .values = "FILTER", .group = kRendezvous,
   .help = "Use all hosts but these."},
  {.id = kSpares, .name = "spares", .type = kInteger, .values = "N", .group = kRendezvous,
   .min = 0, .max = kRankMax,
   .help = "Hosts kept ready to replace a lost one. Default: those beyond --nnodes; in Slurm 0."},
  {.id = kNodesMin, .name = "nodes-min", .type = kInteger, .values = "N", .group = kRendezvous,
   .min = 1, .max = kRankMax,
   .help = "Start and continue with this many nodes if no more are available. The same as "
           "--nnodes=N:MAX."},
  {.id = kRank0, .name = "rank0", .values = "HOST", .group = kRendezvous,
   .help = "This host comes first. The others follow in natural order: node2 before node10."},
  {.id = kIface, .name = "iface", .values = "NAME", .group = kRendezvous,
   .help = "Use the addresses of this network interface, on every node. Default: the interface "
           "that carries the connection between the nodes."},
  {.id = kLauncher, .name = "launcher", .type = kChoice,
   .values = "auto|local|processes|ssh|slurm|join", .native = "auto", .group = kRendezvous,
   .help = "How agents get onto nodes. auto: ssh with --hosts and in a job of PBS, LSF or Grid "
           "Engine, slurm within an allocation, join (each node is started by hand) with several "
           "unnamed nodes, else local. processes: all agents on this machine, for tests."},
  {.id = kSshTransport, .name = "ssh-transport", .type = kChoice,
   .values = "auto|libssh2|openssh", .native = "auto", .group = kRendezvous,
   .help = "auto: the built-in client if it can serve the host, else the ssh program."},
  {.id = kSshCommand, .name = "ssh-command", .values = "CMD", .group = kRendezvous,
   .help = "The ssh program and its options; quotes as in a shell. Implies openssh; with libssh2 "
           "the program only reads your configuration (ssh -G)."},
  {.id = kSshFanout, .name = "ssh-fanout", .type = kInteger, .values = "N", .native = "64",
   .group = kRendezvous, .min = 1, .max = 1024,
   .help = "Number of hosts to connect to at once; at most 8 through one jump host."},
  {.id = kSshTimeout, .name = "ssh-timeout", .type = kDuration, .values = "TIME", .native = "30",
   .group = kRendezvous, .min = 1,
   .help = "Time limit for the start of robustrun on a host: connections, login and shell."},
  {.id = kSecretFile, .name = "secret-file", .values = "FILE", .group = kRendezvous,
   .help = "Secret that nodes started by hand share: 16 to 4096 bytes, mode 0600, the same file "
           "on each. Not needed with munge or --hosts."},
  {.id = kInsecureRdzv, .name = "insecure-rdzv", .type = kFlag, .group = kRendezvous,
   .help = "Accept joining nodes without a secret: any process that reaches the port can join."},
  {.id = kOrphanGrace, .name = "orphan-grace", .type = kDuration, .values = "TIME",
   .native = "600", .group = kFailures, .min = 0,
   .help = "How long workers on a node continue when their supervisor is unreachable; 30 s "
           "without progress end them earlier. On a single machine they end with their "
           "supervisor."},
  {.id = kHeartbeatInterval, .name = "heartbeat-interval", .type = kDuration, .values = "TIME",
   .native = "1", .group = kFailures, .min = 0, .help = "Interval between heartbeats of a node."},
  {.id = kNodeSuspectAfter, .name = "node-suspect-after", .type = kDuration, .values = "TIME",
   .native = "3", .group = kFailures, .min = 0,
   .help = "Silence after which a node is suspected and evidence is collected."},
  {.id = kNodeLostAfter, .name = "node-lost-after", .type = kDuration, .values = "TIME",
   .native = "10", .group = kFailures, .min = 0,
   .help = "Silence after which a node counts as lost, unless its ranks' progress shows "
           "otherwise."},
  {.id = kWaitForNodes, .name = "wait-for-nodes", .type = kDuration, .values = "TIME",
   .native = "10m", .group = kFailures, .min = 0,
   .help = "How long to wait for nodes when fewer are left than --nnodes requires. 0: not at "
           "all."},
  {.id = kFoldLines, .name = "fold-lines", .type = kFlag, .group = kOutput,
   .help = "Show a line that several ranks print within a second once: [ranks 0-127] ... Delays "
           "output by a second."},
  {.id = kLiveLine, .name = "live-line", .type = kChoice, .values = "auto|off",
   .native = "auto", .compat = "off", .group = kOutput,
   .help = "On a terminal, keep a line about the run at the bottom (step, rate, loss, restarts), "
           "show progress bars of several ranks as one, and fold equal lines. Never with CI set "
           "or TERM=dumb."},
  {.id = kRanksFilter, .name = "ranks-filter", .values = "RANKS", .group = kOutput,
   .help = "Show only these global ranks on the console: 0,8-15. Files are not affected."},
  {.id = kExpectWorld, .name = "expect-world", .type = kInteger, .values = "N", .group = kWhat,
   .min = 1, .max = kRankMax * 4096,
   .help = "Refuse to start unless the total number of workers is N."},
  {.id = kDetach, .name = "detach", .type = kFlag, .group = kSelf, .variable = false,
   .help = "Return once all workers run, and leave the run in the background: see the subcommands "
           "status, attach and stop. Its console is the file console.log in the run directory."},
  {.id = kSlurm, .name = "slurm", .type = kFlag, .group = kRendezvous,
   .help = "Run on all nodes of the current Slurm allocation; without one, an error. Native "
           "mode uses an allocation, if there is one, without this option, too."},
  {.id = kAllocation, .name = "allocation", .type = kChoice,
   .values = "auto|slurm|pbs|sge|lsf|none", .native = "auto",
   .group = kRendezvous,
   .help = "Scheduler whose job names the hosts. auto: the first one whose variables are set, in "
           "this order (sge: Grid Engine)."},
  {.id = kSlurmPoll, .name = "slurm-poll", .type = kDuration, .values = "TIME", .native = "2m",
   .group = kRendezvous, .min = 0,
   .help = "Time between two questions to Slurm whether it drains, reboots or maintains nodes of "
           "the run, and when its time limit, or that of PBS, Grid Engine or LSF, ends the job; 0: "
           "never."},
  {.id = kReplace, .name = "replace", .type = kInteger, .values = "N", .group = kRendezvous,
   .min = 0, .max = 64,
   .help = "In Slurm: when nodes are missing and no spare is left, queue jobs of one node each, at "
           "most N at a time, whose nodes join the run. Default: 0, none."},
  {.id = kReplaceWith, .name = "replace-with", .values = "OPTIONS", .group = kRendezvous,
   .help = "Options of sbatch for the jobs of --replace, in one text: partition, account, "
           "constraints. submit sets it from its own."},
  {.id = kSaveWithin, .name = "save-within", .type = kDuration, .values = "TIME", .native = "2m",
   .group = kFailures, .min = 0,
   .help = "Time that workers need for a last checkpoint: submit lets Slurm warn this long "
           "plus a minute before the time limit, and uses it for --shutdown-timeout if that is not "
           "given."},
  {.id = kNumaMemory, .name = "numa-memory", .type = kChoice, .values = "off|prefer|bind",
   .native = "off", .group = kWhat,
   .help = "Allocate the workers' memory on the NUMA nodes of their processors (--numa-binding), "
           "else of their GPU. bind: nowhere else, even if the worker is killed for it."},
  {.id = kPreflight, .name = "preflight", .type = kChoice, .values = "auto|fast|full|gpu|off",
   .native = "auto", .compat = "off", .group = kRendezvous,
   .help = "Check the nodes before the first start: mutual reachability, free space, same "
           "software. full: also every pair, versions by importing, and speed. gpu: fast, and "
           "tests of all GPUs for a minute or more. auto: fast with several nodes, else off."},
  {.id = kTopology, .name = "topology", .values = "FILE|auto|off", .native = "auto",
   .compat = "off", .group = kPlacement,
   .help = "Description of the network: TOML, Slurm's topology.conf, or topograph's output. "
           "auto: Slurm's topology within an allocation, else racks from host names. Ranks that "
           "communicate are then placed below one switch."},
  {.id = kParallel, .name = "parallel", .type = kList, .values = "KIND=N,...", .group = kPlacement,
   .help = "How the job divides its ranks, as in the script: tp=8,pp=8,dp=auto. The kinds are "
           "tp, cp, ep, dp and pp; kinds left out are 1, and dp takes the rest."},
  {.id = kRankOrder, .name = "rank-order", .values = "KIND-...", .native = "tp-cp-ep-dp-pp",
   .group = kPlacement,
   .help = "Order in which the kinds count ranks, fastest first; the default is Megatron's."},
  {.id = kAffinity, .name = "affinity", .type = kNumber, .values = "ALPHA", .group = kPlacement,
   .min = 0,
   .help = "Weight of a spread DP group against a PP group, 0 to 1. Default: from --traffic or "
           "--model, else 0, or 0.3 with experts (ep)."},
  {.id = kModel, .name = "model", .type = kList, .values = "NAME=N,...", .group = kPlacement,
   .help = "Shape of the model, from which the traffic is computed: vocab, seq, hidden, layers, "
           "micro-batch, global-batch (sequences) and dtype."},
  {.id = kTraffic, .name = "traffic", .type = kList, .values = "KIND=BYTES,...",
   .group = kPlacement,
   .help = "What a rank sends per step: dp=2GB,pp=30MB. Overrides --model for these kinds."},
  {.id = kRerank, .name = "rerank", .type = kChoice, .values = "never|nodes|all",
   .native = "never", .group = kPlacement,
   .help = "Which nodes may get other ranks when a lost node is replaced: none (never); nodes "
           "that swap places if that pays (nodes); or all, if a fresh placement pays."},
  {.id = kNodeHistory, .name = "node-history", .values = "DIR|auto|off", .native = "auto",
   .compat = "off", .group = kRendezvous,
   .help = "Remember which hosts failed runs, and take repeat offenders only if there are too "
           "few others; robustrun nodes lists them. auto: in your own state folder."},
  {.id = kTrace, .name = "trace", .type = kChoice, .values = "auto|dispatcher|off",
   .native = "auto", .compat = "off", .group = kFailures,
   .help = "Trace the workers' collectives to find blocking ranks: by NCCL's profiler plugin and "
           "torch's Flight Recorder; dispatcher: also torch 2.2 to 2.7 on gloo."},
  {.id = kHangTimeout, .name = "hang-timeout", .type = kDuration, .values = "TIME",
   .native = "10m", .compat = "0", .group = kFailures, .min = 0,
   .help = "Upper limit for a hang, whatever its cause seems to be; a confirmed hang ends "
           "sooner. A few are never ended (docs/diagnosis.md). 0: hangs are only reported."},
  {.id = kCopiesRate, .name = "copies-rate", .type = kInteger, .values = "MIB", .native = "1024",
   .group = kFailures, .min = 4, .max = 1'048'576,
   .help = "Limit in MiB/s per node for sending its workers' copies in memory to the keeper."},
  {.id = kMetricsPort, .name = "metrics-port", .type = kWord, .values = "[HOST:]PORT",
   .group = kSelf,
   .help = "Serve metrics for Prometheus at http://HOST:PORT/metrics; 0: any free port, which is "
           "logged. Without HOST only this machine can read them (docs/metrics.md)."},
  {.id = kMetricsFile, .name = "metrics-file", .values = "FILE", .group = kSelf,
   .help = "Write the metrics to this file every 15 s and at the end, for the textfile collector "
           "of the node exporter."},
  {.id = kEvents, .name = "events", .values = "FILE|fd:N", .group = kSelf,
   .help = "Append events and decisions, one JSON object per line, to a file or an open "
           "descriptor (docs/formats/events.md)."},
  {.id = kOnIncident, .name = "on-incident", .values = "CMD", .group = kSelf,
   .help = "Run this command on every incident, with its JSON on standard input and a limit of "
           "30 s. Quotes work as in a shell; nothing else does."},
  {.id = kOnBadNode, .name = "on-bad-node", .values = "CMD|slurm-drain|slurm-comment",
   .group = kSelf,
   .help = "When a node is evicted: run this command with the evidence as JSON on standard input, "
           "drain the node in Slurm, or name it in the comment of the Slurm job."},
  {.id = kNotify, .name = "notify", .type = kFilters,
   .values = "slack:URL|teams:URL|webhook:URL|ntfy:URL|mail:ADDRESS,...", .group = kSelf,
   .secret = true,
   .help = "Send notices about the run: started, incident, recovered, no step for "
           "--notify-stalled, gave up, finished. URLs are secrets: give them in ROBUSTRUN_NOTIFY "
           "or the file of --config, as other users see command lines (docs/operations.md). ,, is "
           "a comma."},
  {.id = kNotifyStalled, .name = "notify-stalled", .type = kDuration, .values = "TIME",
   .native = "30m", .group = kSelf, .min = 0,
   .help = "Time without a step after which --notify sends a notice; 0: never."},
  {.id = kFaults, .name = "faults", .values = "FILE", .group = kFailures,
   .help = "This site's own known failures, in addition to the shipped ones: docs/faults.md."},
  {.id = kPolicy, .name = "policy", .values = "FILE", .group = kFailures,
   .help = "Changes of the policy that `robustrun policy` shows: docs/policy.md."},
  {.id = kHealth, .name = "health", .type = kChoice, .values = "on|off", .native = "on",
   .compat = "off", .group = kFailures,
   .help = "Watch the machines while the job runs: kernel log, GPUs, links, file systems, "
           "memory, clock (docs/health.md)."},
  {.id = kStandby, .name = "standby", .type = kChoice, .values = "off|spares|all",
   .native = "all", .compat = "off", .group = kFailures,
   .help = "Keep standby workers, which have already imported the job's modules, for the next "
           "start: on spare nodes, or on all. None if they would need too much memory. all: also "
           "fork the first workers, if an earlier run of the script has shown what it imports."},
  {.id = kLineMetrics, .name = "line-metrics", .type = kFilters, .values = "auto|NAME=TEXT,...",
   .group = kFailures,
   .help = "Numbers to read from the output of the first and the last rank, as if the script had "
           "called robustrun.step. auto: recognise the lines of Megatron-LM, NeMo, HF Trainer, "
           "Lightning, DeepSpeed, torchtitan and nanoGPT. Else 'loss=iter *loss: "
           "{value},grad_norm=norm={value}': {value} is the number, * any bytes, ,, a comma "
           "(docs/metrics.md)."},
  {.id = kLogFormats, .name = "log-formats", .values = "FILE", .group = kFailures,
   .help = "This site's own formats of log lines for --line-metrics=auto, in addition to the "
           "shipped ones: docs/metrics.md."},
  {.id = kTrackers, .name = "trackers", .type = kFilters, .values = "resume,annotate",
   .group = kFailures,
   .help = "What W&B, MLflow, Aim and TensorBoard show of restarts. resume: later attempts, also "
           "those of a requeued Slurm job, continue the runs that the first one created. "
           "annotate: incidents become W&B alerts and MLflow tags (docs/trackers.md)."},
  {.id = kCheckpoints, .name = "checkpoints", .type = kFilters, .values = "GLOB,...",
   .group = kFailures,
   .help = "Checkpoints that the script writes itself, relative to its working directory: "
           "'out/checkpoint-*'. What a failed attempt left half-written is moved to the folder "
           ".robustrun-incomplete beside it before the next one starts (docs/checkpoints.md). ,, "
           "is a comma."},
  {.id = kReplayCommand, .name = "replay-cmd", .values = "CMD", .group = kFailures,
   .help = "What groups of nodes run when the policy replays them, instead of the alignment "
           "test: your script with fewer layers and steps, whose exit code is not 0 when it goes "
           "wrong (docs/alignment.md). Quotes work as in a shell; nothing else does."},
  {.id = kPrefetch, .name = "prefetch", .type = kChoice, .values = "auto|on|off",
   .native = "auto", .compat = "off", .group = kWhat,
   .help = "Record which files workers read until their first step, and read them ahead at the "
           "next start; auto: if interpreter or script are on shared storage (docs/startup.md)."},
  {.id = kStore, .name = "store", .type = kChoice, .values = "agent|worker", .native = "agent",
   .compat = "agent", .group = kRendezvous,
   .help = "Who serves torch's store at MASTER_ADDR:MASTER_PORT: robustrun's agent of rank 0's "
           "node, as with torchrun, or the worker of rank 0, for scripts that open MASTER_PORT "
           "themselves (docs/compat.md)."},
  {.id = kCacheDir, .name = "cache-dir", .values = "auto|DIR", .native = "auto",
   .group = kWhat,
   .help = "Cache for faster starts, on each node; auto: robustrun in $XDG_CACHE_HOME or "
           "~/.cache."},
  {.id = kCacheMax, .name = "cache-max", .type = kInteger, .values = "GIB", .native = "0",
   .group = kWhat, .min = 0, .max = kCacheMaxGib,
   .help = "Size limit in the cache for snapshots of dependencies, and again for images and "
           "staged files; the least recently used go first. 0: 64 for snapshots, free disk space "
           "for the rest."},
  {.id = kImage, .name = "image", .values = "PATH|URL", .group = kWhat,
   .help = "A squashfs image with the workers' environment, mounted on each node and never "
           "unpacked: a path that every node sees, or http(s)://…, with #sha256=HEX appended to "
           "check its content (docs/images.md)."},
  {.id = kImageMode, .name = "image-mode", .type = kChoice, .values = "auto|pagecache|blocks",
   .native = "auto", .group = kWhat,
   .help = "pagecache: mount the image where it is, and read ahead what starts need. blocks: "
           "fetch its blocks, those that starts need first, and keep them in --cache-dir. auto: "
           "blocks for a URL, pagecache for a path."},
  {.id = kContainerRuntime, .name = "container-runtime", .type = kChoice,
   .values = "auto|none|bwrap|apptainer|enroot", .native = "auto",
   .group = kWhat,
   .help = "How workers see the image. none: its folders come first on PATH. The others make it "
           "their root. auto: bwrap for a system image, none for an image of packages."},
  {.id = kContainerMounts, .name = "container-mounts", .type = kList, .values = "SRC:DST[:ro],…",
   .group = kWhat,
   .help = "Further folders of the node that workers see in a container; working directory, home "
           "and /tmp are always there."},
  {.id = kStage, .name = "stage", .type = kFilters, .values = "FILE,...", .group = kWhat,
   .help = "Copy these files, which at least one node can read, into the cache of each node "
           "before workers start; workers find them in $ROBUSTRUN_STAGE_DIR. Each file is read "
           "from its storage once, and passed on between nodes (docs/startup.md). ,, is a comma."},
  {.id = kSyncCode, .name = "sync-code", .values = "DIR", .group = kWhat,
   .help = "Copy the code in this folder, as it is now, to every node, and start workers there: "
           "for nodes that do not share it. Files ignored by git, version control, bytecode and "
           "virtual environments are left out (docs/startup.md)."},
  {.id = kPeersRate, .name = "peers-rate", .type = kInteger, .values = "MIB", .native = "0",
   .group = kWhat, .min = 0, .max = 1'048'576,
   .help = "Limit in MiB/s per node for sending staged files and images to other nodes; 0: no "
           "limit."},
  {.id = kDeps, .name = "deps", .values = "FILE", .group = kWhat,
   .help = "Install the dependencies in a requirements.txt, uv.lock, pyproject.toml or "
           "environment.yml, once for all runs with the same content, and put them in front of "
           "the workers' environment (docs/snapshots.md)."},
  {.id = kSetupCmd, .name = "setup-cmd", .values = "CMD", .group = kWhat,
   .help = "Install dependencies by this command: what it installs with pip, or into "
           "${ROBUSTRUN_PREFIX}, is kept. Quotes work as in a shell; nothing else does."},
  {.id = kDepsTtl, .name = "deps-ttl", .type = kDuration, .values = "TIME", .native = "7d",
   .group = kWhat, .min = 0,
   .help = "Lifetime of installed dependencies without pinned versions; then they are installed "
           "again."},
  {.id = kQuiet, .name = "quiet", .short_name = 'q', .type = kFlag, .group = kSelf,
   .help = "Print only robustrun's own warnings and errors, and no report at the end. Output of "
           "workers is not affected."},
  // for one subcommand
  {.id = kGpu, .name = "gpu", .type = kFlag, .group = kCheck, .variable = false, .file = false,
   .help = "The same as --preflight=gpu: put all GPUs of the nodes to work, and report slow or "
           "faulty ones. They should be idle otherwise."},
  {.id = kNodes, .name = "nodes", .type = kInteger, .values = "N", .group = kSubmit, .min = 1,
   .max = kRankMax,
   .help = "Number of nodes to request from Slurm. All of them are used, except --spares."},
  {.id = kPartition, .name = "partition", .values = "NAME", .group = kSubmit,
   .help = "Slurm partition."},
  {.id = kAccount, .name = "account", .values = "NAME", .group = kSubmit, .help = "Slurm account."},
  {.id = kQos, .name = "qos", .values = "NAME", .group = kSubmit,
   .help = "Slurm quality of service."},
  {.id = kTime, .name = "time", .type = kWord, .values = "LIMIT", .group = kSubmit,
   .help = "Time limit of the job in sbatch's notation: 90 (minutes), 4:00:00, 2-12."},
  {.id = kJobName, .name = "job-name", .values = "NAME", .group = kSubmit,
   .help = "Name of the job. Default: the script's name."},
  {.id = kGpusPerNode, .name = "gpus-per-node", .type = kWord, .values = "N", .group = kSubmit,
   .help = "GPUs per node to request from Slurm; also the number of workers per node, unless "
           "--nproc-per-node is given."},
  {.id = kCpusPerTask, .name = "cpus-per-task", .type = kInteger, .values = "N", .group = kSubmit,
   .min = 1,
   .help = "Processors per node to request from Slurm. Default: whole nodes (sbatch --exclusive "
           "--mem=0), as Slurm gives one processor otherwise."},
  {.id = kMem, .name = "mem", .values = "SIZE", .group = kSubmit,
   .help = "Memory per node in sbatch's notation: 200G; 0 is all. Default: all of whole nodes, "
           "the cluster's default with --cpus-per-task."},
  {.id = kSlurmOutput, .name = "output", .values = "FILE", .native = "slurm-%j.out",
   .group = kSubmit, .help = "Console of the job; %j is the job's number."},
  {.id = kRequeueOn, .name = "requeue-on", .type = kList, .values = "KINDS",
   .native = "infrastructure", .group = kSubmit,
   .help = "Which ends of the job requeue it: infrastructure (exit code 94: nodes lost, or job "
           "preempted), time-limit (124), both, separated by a comma, or never."},
  {.id = kSbatch, .name = "sbatch", .values = "OPTIONS", .group = kSubmit,
   .help = "More options for sbatch, in one text: --sbatch='--mem=0 --constraint=a100'. Quotes "
           "work as in a shell."},
  {.id = kPodImage, .name = "pod-image", .values = "IMAGE", .group = kKubernetes,
   .help = "Container image with robustrun, PyTorch and the script."},
  {.id = kPodVolume, .name = "pod-volume", .values = "CLAIM", .group = kKubernetes,
   .help = "PersistentVolumeClaim that all nodes can mount, for checkpoints and run directories, "
           "at /data. Default: the job's name."},
  {.id = kPodQueue, .name = "pod-queue", .values = "NAME", .group = kKubernetes,
   .help = "Kueue's LocalQueue."},
  {.id = kJobset, .name = "jobset", .type = kFlag, .group = kKubernetes,
   .help = "Print a JobSet instead of a Job and its Service."},
  {.id = kJson, .name = "json", .type = kFlag, .group = kPlan, .variable = false, .file = false,
   .help = "Print the placement as one JSON object (docs/formats/plan.md)."},
  {.id = kHtml, .name = "html", .values = "FILE", .group = kPlan, .variable = false,
   .file = false, .help = "Write one page with the tree of switches, the place of each node, and "
                          "what crosses which switch; it needs no network."},
  {.id = kSvg, .name = "svg", .values = "FILE", .group = kPlan, .variable = false, .file = false,
   .help = "Write an SVG picture of switches and nodes, each group in its colour."},
  {.id = kColourBy, .name = "colour-by", .alias = "color-by", .type = kChoice,
   .values = "tp|cp|ep|dp|pp", .group = kPlan, .variable = false, .file = false,
   .help = "Kind of groups to colour in the pictures. Default: the kind of most weight."},
  {.id = kExplain, .name = "explain", .values = "NODE", .group = kPlan, .variable = false,
   .file = false, .help = "Explain why this node has its place, or none."},
  {.id = kLose, .name = "lose", .values = "NODE", .group = kPlan, .variable = false,
   .file = false, .help = "Show which node would replace this one if it were lost."},
  {.id = kUnit, .name = "unit", .type = kInteger, .values = "N", .group = kReplay,
   .variable = false, .file = false, .min = 1, .max = kRankMax,
   .help = "Machines per copy of the model: groups hold a multiple of it."},
  {.id = kHelp, .name = "help", .short_name = 'h', .type = kFlag, .group = kSelf, .torchrun = true,
   .variable = false, .file = false, .help = "Show help and exit."},
  {.id = kVersion, .name = "version", .type = kFlag, .group = kSelf, .variable = false,
   .file = false, .help = "Show the version and exit."},
});
// clang-format on

constexpr bool is_in_order_of_id() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].id) != i) return false;
  }
  return kTable.size() == kOptionCount;
}
static_assert(is_in_order_of_id());

// A duration is never negative.
static_assert(std::ranges::all_of(kTable, [](const Option& row) {
  return row.type != kDuration || row.min >= 0;
}));

}  // namespace

std::span<const Option> options() { return kTable; }

const Option& option(OptionId id) {
  RR_ASSERT(id < OptionId::kCount);
  return kTable[static_cast<std::size_t>(id)];
}

const char* title(Group group) {
  switch (group) {
    case kWhat: return "What to run";
    case kRendezvous: return "Nodes and addresses";
    case kPlacement: return "Which rank runs where";
    case kFailures: return "Failures, restarts and stopping";
    case kOutput: return "Output of workers";
    case kSelf: return "robustrun itself";
    case kCheck: return "Only for robustrun check";
    case kSubmit: return "Only for robustrun submit";
    case kKubernetes: return "Only for robustrun k8s";
    case kPlan: return "Only for robustrun plan";
    case kReplay: return "Only for robustrun replay";
  }
  return "";
}

std::string underscored(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '-', '_');
  return text;
}

std::string variable_name(const Option& row) {
  if (!row.variable) return "";
  std::string text = row.torchrun ? "PET_" : "ROBUSTRUN_";
  for (const char c : underscored(row.name)) {
    text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return text;
}

std::string display_name(const Option& row) {
  std::string text;
  if (row.short_name != '\0') text = std::string("-") + row.short_name + "/";
  text += std::string("--") + row.name;
  const std::string second = underscored(row.name);
  if (row.torchrun && second != row.name) text += "/--" + second;
  return text;
}

const Option* find_by_key(std::string_view key) {
  const std::string wanted = underscored(key);
  for (const Option& row : kTable) {
    if (row.file && (underscored(row.name) == wanted || (row.alias && row.alias == wanted))) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace robustrun::cli
