#include "cli/options_table.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/core/result.h"

namespace robustrun::cli {
namespace {

using enum OptionId;
using enum Type;
using enum Group;

constexpr std::int64_t kPortMax = 65535;
constexpr std::int64_t kRankMax = 1'000'000;

// clang-format off
constexpr std::array<Option, kOptionCount> kRows = {{
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
   .variable = false, .help = "Not supported: a Python plug-in."},
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

  {.id = kConfig, .name = "config", .short_name = 'c', .values = "FILE", .group = kSelf,
   .file = false, .help = "Read options from a TOML file; see configs/job.toml."},
  {.id = kPrintConfig, .name = "print-config", .type = kChoice, .values = "json|toml",
   .group = kSelf, .variable = false, .file = false,
   .help = "Print every option's value and where it comes from, and exit."},
  {.id = kDryRun, .name = "dry-run", .type = kFlag, .group = kSelf, .variable = false,
   .file = false, .help = "Print what would be started where, and exit. Nothing is made."},
  {.id = kCompat, .name = "compat", .type = kChoice, .values = "native|torchrun",
   .native = "native", .group = kSelf,
   .help = "torchrun: behave exactly as torchrun, also where we could do better (docs/compat.md). "
           "The default when called by that name."},
  {.id = kRunDir, .name = "run-dir", .values = "DIR", .group = kSelf,
   .help = "Where journal and logs of this run go. Default: ./robustrun-runs/<id>."},
  {.id = kTimeLimit, .name = "time-limit", .type = kDuration, .values = "TIME", .group = kFailures,
   .min = 1, .help = "End the run after this time, with exit code 124 as timeout(1) does."},
  {.id = kStopAfterSteps, .name = "stop-after-steps", .type = kInteger, .values = "N",
   .group = kFailures, .min = 1,
   .help = "End the run, with exit code 0, when every rank has done N steps."},
  {.id = kSummaryJson, .name = "summary-json", .values = "FILE", .group = kSelf,
   .help = "Write the report at the end of the run here, too."},
  {.id = kRestartWindow, .name = "restart-window", .type = kDuration, .values = "TIME",
   .native = "1h", .compat = "0", .group = kFailures, .min = 0,
   .help = "After this time of progress the restarts of --max-restarts are there again; 0: never."},
  {.id = kInject, .name = "inject", .type = kChoice, .values = "on|off", .native = "on",
   .compat = "off", .group = kWhat,
   .help = "on: start scripts through our boot module, which reports progress and shows stacks. "
           "off: plain python -u."},
  {.id = kOmp, .name = "omp", .type = kWord, .values = "auto|torchrun|off|N", .native = "auto",
   .compat = "torchrun", .group = kWhat,
   .help = "OMP_NUM_THREADS where it is not set: auto (processors per worker), torchrun (1 when "
           "there are several workers), off, or a number."},
  {.id = kStdin, .name = "stdin", .type = kInteger, .values = "RANK", .group = kWhat, .min = 0,
   .max = kRankMax, .help = "Connect our standard input to this rank. Others read /dev/null."},
  {.id = kLinePrefix, .name = "line-prefix", .type = kChoice, .values = "auto|on|off",
   .native = "auto", .group = kOutput,
   .help = "Show the rank before each line of workers. auto: on a terminal, with several workers."},
  {.id = kLogFormat, .name = "log-format", .type = kChoice, .values = "human|json",
   .native = "human", .group = kSelf, .help = "Form of our own log on stderr."},
  {.id = kLogLevel, .name = "log-level", .type = kChoice, .values = "debug|info|warn|error|off",
   .native = "info", .compat = "warn", .group = kSelf, .fallback = "LOGLEVEL",
   .help = "How much our own log says."},
  {.id = kColour, .name = "colour", .alias = "color", .type = kChoice,
   .values = "auto|never|always", .native = "auto", .group = kSelf,
   .help = "Colour of our own output. auto: on a terminal, unless NO_COLOR is set."},
  {.id = kStackSignal, .name = "stack-signal", .values = "SIGNAL", .native = "SIGRTMIN+8",
   .group = kFailures,
   .help = "Real-time signal at which a script writes its Python stacks beside its "
           "progress record; off: none."},
  {.id = kHosts, .name = "hosts", .type = kList, .values = "LIST", .group = kRendezvous,
   .help = "Run on these machines, over SSH: node[01-16],gpu-[a,b],user@host:2222,[fe80::1]:22. "
           "The number after the colon is ssh's port."},
  {.id = kHostfile, .name = "hostfile", .values = "FILE", .group = kRendezvous,
   .help = "The same from a file, one host or list a line: HOST slots=N (DeepSpeed, OpenMPI), "
           "HOST:N (MPICH: workers) or HOST. Slots are workers, unless --nproc-per-node is given."},
  {.id = kInclude, .name = "include", .values = "FILTER", .group = kRendezvous,
   .help = "Of the hosts, only these; DeepSpeed's node1@node2:0,1, or node[1-4]. Slots must begin "
           "with 0."},
  {.id = kExclude, .name = "exclude", .values = "FILTER", .group = kRendezvous,
   .help = "Of the hosts, all but these."},
  {.id = kSpares, .name = "spares", .type = kInteger, .values = "N", .group = kRendezvous,
   .min = 0, .max = kRankMax,
   .help = "Hosts that are kept ready to replace a lost one. Default: those beyond --nnodes."},
  {.id = kNodesMin, .name = "nodes-min", .type = kInteger, .values = "N", .group = kRendezvous,
   .min = 1, .max = kRankMax,
   .help = "Start, and go on, with so many nodes when no more can be had. As --nnodes=N:MAX."},
  {.id = kRank0, .name = "rank0", .values = "HOST", .group = kRendezvous,
   .help = "This host comes first. Others follow in natural order: node2 before node10."},
  {.id = kIface, .name = "iface", .values = "NAME", .group = kRendezvous,
   .help = "Use the addresses of this network interface, on every node. Default: of the one that "
           "carries the connection between the nodes."},
  {.id = kLauncher, .name = "launcher", .type = kChoice,
   .values = "auto|local|processes|ssh|slurm|join", .native = "auto", .group = kRendezvous,
   .help = "How agents get onto nodes. auto: ssh with --hosts, slurm within an allocation, join "
           "(each node is started by hand) with several nodes and none named, else local. "
           "processes: all of them on this machine, for tests."},
  {.id = kSshTransport, .name = "ssh-transport", .type = kChoice,
   .values = "auto|libssh2|openssh", .native = "auto", .group = kRendezvous,
   .help = "auto: built in where it can serve the host, else the ssh program."},
  {.id = kSshCommand, .name = "ssh-command", .values = "CMD", .group = kRendezvous,
   .help = "The ssh program and options for it; quotes as in a shell. Implies openssh, unless "
           "libssh2 "
           "is asked for, which asks it for your configuration alone (ssh -G)."},
  {.id = kSshFanout, .name = "ssh-fanout", .type = kInteger, .values = "N", .native = "64",
   .group = kRendezvous, .min = 1, .max = 1024,
   .help = "How many hosts are connected to at once; through one jump host at most 8."},
  {.id = kSshTimeout, .name = "ssh-timeout", .type = kDuration, .values = "TIME", .native = "10",
   .group = kRendezvous, .min = 1,
   .help = "Time for connection and login, each host."},
  {.id = kSecretFile, .name = "secret-file", .values = "FILE", .group = kRendezvous,
   .help = "What nodes that are started by hand must all know: 16 to 4096 bytes, mode 0600, the "
           "same file on each. Not needed where munge runs, nor with --hosts."},
  {.id = kInsecureRdzv, .name = "insecure-rdzv", .type = kFlag, .group = kRendezvous,
   .help = "Without a secret: let in whoever reaches the port."},
  {.id = kOrphanGrace, .name = "orphan-grace", .type = kDuration, .values = "TIME",
   .native = "600", .group = kFailures, .min = 0,
   .help = "How long workers on a node go on when their supervisor is out of reach, at most: 30 s "
           "without progress end it, too. On one machine alone they end with it."},
  {.id = kHeartbeatInterval, .name = "heartbeat-interval", .type = kDuration, .values = "TIME",
   .native = "1", .group = kFailures, .min = 0, .help = "Time between signs of life of a node."},
  {.id = kNodeSuspectAfter, .name = "node-suspect-after", .type = kDuration, .values = "TIME",
   .native = "3", .group = kFailures, .min = 0,
   .help = "Silence after which a node is looked at more closely."},
  {.id = kNodeLostAfter, .name = "node-lost-after", .type = kDuration, .values = "TIME",
   .native = "10", .group = kFailures, .min = 0,
   .help = "Silence after which a node counts as lost, unless its ranks' progress shows "
           "otherwise."},
  {.id = kWaitForNodes, .name = "wait-for-nodes", .type = kDuration, .values = "TIME",
   .native = "10m", .group = kFailures, .min = 0,
   .help = "How long to wait for more when fewer nodes are left than the least that --nnodes "
           "allows. 0: not at all."},
  {.id = kFoldLines, .name = "fold-lines", .type = kFlag, .group = kOutput,
   .help = "Show a line that several ranks print within a second once: [ranks 0-127] ... "
           "Output comes a second later."},
  {.id = kRanksFilter, .name = "ranks-filter", .values = "RANKS", .group = kOutput,
   .help = "Show only these global ranks on the console: 0,8-15. Files are not affected."},
  {.id = kExpectWorld, .name = "expect-world", .type = kInteger, .values = "N", .group = kWhat,
   .min = 1, .max = kRankMax * 4096,
   .help = "Refuse to start when the number of all workers is another one."},
  {.id = kDetach, .name = "detach", .type = kFlag, .group = kSelf, .variable = false,
   .help = "Return once all workers run, and leave the run to itself: see the subcommands status, "
           "attach and stop. Its console is the file console.log in its directory."},
  {.id = kSlurm, .name = "slurm", .type = kFlag, .group = kRendezvous,
   .help = "Run on all nodes of the Slurm allocation in which this is started; an error outside "
           "of one. Native mode does so by itself."},
  {.id = kSaveWithin, .name = "save-within", .type = kDuration, .values = "TIME", .native = "2m",
   .group = kFailures, .min = 0,
   .help = "How long workers need to write a last checkpoint: submit lets Slurm warn so long "
           "before the time limit, and makes it the value of --shutdown-timeout if that is not "
           "given."},
  {.id = kNumaMemory, .name = "numa-memory", .type = kChoice, .values = "off|prefer|bind",
   .native = "off", .group = kWhat,
   .help = "Take the workers' memory from the NUMA nodes of their processors (--numa-binding) or "
           "else of their GPU. bind: from nowhere else, even if the worker is killed for it."},
  {.id = kPreflight, .name = "preflight", .type = kChoice, .values = "auto|fast|full|gpu|off",
   .native = "auto", .compat = "off", .group = kRendezvous,
   .help = "Check the nodes before the first start: that they reach each other, have room, and "
           "have the same software. full: every pair, versions by importing, and speed. gpu: as "
           "fast, and tests of all GPUs, a minute or more. auto: fast with several nodes, else "
           "off."},
  {.id = kTopology, .name = "topology", .values = "FILE|auto|off", .native = "auto",
   .compat = "off", .group = kPlacement,
   .help = "Which node hangs on which switch: TOML, Slurm's topology.conf, or what topograph "
           "writes. auto: what Slurm says, within an allocation. Ranks that talk to each other are "
           "then placed below one switch."},
  {.id = kParallel, .name = "parallel", .type = kList, .values = "KIND=N,...", .group = kPlacement,
   .help = "How the job divides its ranks, as the script does: tp=8,pp=8,dp=auto. The kinds are "
           "tp, cp, ep, dp and pp; those left out are 1, and dp is what remains."},
  {.id = kRankOrder, .name = "rank-order", .values = "KIND-...", .native = "tp-cp-ep-dp-pp",
   .group = kPlacement,
   .help = "Which kind counts ranks fastest, and so on; the default is Megatron's."},
  {.id = kAffinity, .name = "affinity", .type = kNumber, .values = "ALPHA", .group = kPlacement,
   .min = 0,
   .help = "What a spread DP group counts against a PP group, 0 to 1. Default: from --traffic or "
           "--model, else 0, and 0.3 with experts (ep)."},
  {.id = kModel, .name = "model", .type = kList, .values = "NAME=N,...", .group = kPlacement,
   .help = "Shape of the model, which tells how much its ranks send: vocab, seq, hidden, layers, "
           "micro-batch, global-batch (sequences) and dtype."},
  {.id = kTraffic, .name = "traffic", .type = kList, .values = "KIND=BYTES,...",
   .group = kPlacement,
   .help = "What a rank sends in a step: dp=2GB,pp=30MB. Beats what --model says of that kind."},
  {.id = kRerank, .name = "rerank", .type = kChoice, .values = "never|nodes|all",
   .native = "never", .group = kPlacement,
   .help = "Who may get other ranks when a lost node is replaced: nobody; nodes that swap places "
           "if it pays; or all, if a fresh placement pays."},
  {.id = kNodeHistory, .name = "node-history", .values = "DIR|auto|off", .native = "auto",
   .compat = "off", .group = kRendezvous,
   .help = "Keep in mind which hosts failed runs, and take those that did so again and again only "
           "where others are too few; robustrun nodes shows them. auto: in your own state folder."},
  {.id = kTrace, .name = "trace", .type = kChoice, .values = "auto|dispatcher|off",
   .native = "auto", .compat = "off", .group = kFailures,
   .help = "Follow the workers' collectives, to name who holds the others up: by NCCL's profiler "
           "plugin and torch's Flight Recorder; dispatcher: torch 2.2 to 2.7 on gloo, too."},
  {.id = kHangTimeout, .name = "hang-timeout", .type = kDuration, .values = "TIME",
   .native = "10m", .compat = "0", .group = kFailures, .min = 0,
   .help = "No hang lasts longer than this, whatever seems to be its cause; one that is proved "
           "ends sooner. 0: hangs are named, nothing is done about them."},
  {.id = kGpu, .name = "gpu", .type = kFlag, .group = kCheck, .variable = false, .file = false,
   .help = "As --preflight=gpu: put all GPUs of the nodes to work, and say which are slow or "
           "faulty. Nothing else should use them meanwhile."},
  {.id = kNodes, .name = "nodes", .type = kInteger, .values = "N", .group = kSubmit, .min = 1,
   .max = kRankMax,
   .help = "Nodes to ask Slurm for. All of them are used, but for --spares."},
  {.id = kPartition, .name = "partition", .values = "NAME", .group = kSubmit,
   .help = "As sbatch's."},
  {.id = kAccount, .name = "account", .values = "NAME", .group = kSubmit,
   .help = "As sbatch's."},
  {.id = kQos, .name = "qos", .values = "NAME", .group = kSubmit, .help = "As sbatch's."},
  {.id = kTime, .name = "time", .type = kWord, .values = "LIMIT", .group = kSubmit,
   .help = "Time limit of the job, as sbatch's: 90 (minutes), 4:00:00, 2-12."},
  {.id = kJobName, .name = "job-name", .values = "NAME", .group = kSubmit,
   .help = "Name of the job; without it the script's."},
  {.id = kGpusPerNode, .name = "gpus-per-node", .type = kWord, .values = "N", .group = kSubmit,
   .help = "As sbatch's; as many workers run on each node if --nproc-per-node says nothing else."},
  {.id = kRequeueOn, .name = "requeue-on", .type = kList, .values = "KINDS",
   .native = "infrastructure", .group = kSubmit,
   .help = "After which ends the job is queued again: infrastructure (exit code 94: nodes lost, "
           "or the job was preempted), time-limit (124), both with a comma between, or never."},
  {.id = kSbatch, .name = "sbatch", .values = "OPTIONS", .group = kSubmit,
   .help = "More options for sbatch, in one text: --sbatch='--mem=0 --constraint=a100'. Quotes "
           "work as in a shell."},
  {.id = kJson, .name = "json", .type = kFlag, .group = kPlan, .variable = false, .file = false,
   .help = "Print the placement as one JSON object (docs/formats/plan.md)."},
  {.id = kSvg, .name = "svg", .values = "FILE", .group = kPlan, .variable = false, .file = false,
   .help = "Write a picture of switches and nodes there, each group in its colour."},
  {.id = kColourBy, .name = "colour-by", .alias = "color-by", .type = kChoice,
   .values = "tp|cp|ep|dp|pp", .group = kPlan, .variable = false, .file = false,
   .help = "Whose groups the pictures show. Default: the kind that counts most."},
  {.id = kExplain, .name = "explain", .values = "NODE", .group = kPlan, .variable = false,
   .file = false, .help = "Say why this node has its place, or none."},
  {.id = kLose, .name = "lose", .values = "NODE", .group = kPlan, .variable = false,
   .file = false, .help = "Say who would get its place if this node were lost."},
  {.id = kHelp, .name = "help", .short_name = 'h', .type = kFlag, .group = kSelf, .torchrun = true,
   .variable = false, .file = false, .help = "Show this help and exit."},
  {.id = kVersion, .name = "version", .type = kFlag, .group = kSelf, .variable = false,
   .file = false, .help = "Show the version and exit."},
}};
// clang-format on

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].id) != i) return false;
  }
  return true;
}
static_assert(rows_are_in_order(), "rows stand in the order of OptionId");
static_assert(std::ranges::all_of(kRows,
                                  [](const Option& row) {
                                    return row.type != kDuration || row.min >= 0;
                                  }),
              "a time has a least value, in seconds");

}  // namespace

std::span<const Option> options() { return kRows; }

const Option& option(OptionId id) {
  RR_ASSERT(id < OptionId::kCount);
  return kRows[static_cast<std::size_t>(id)];
}

const char* title(Group group) {
  switch (group) {
    case kWhat: return "What to run";
    case kRendezvous: return "Nodes and addresses";
    case kPlacement: return "Which rank runs where";
    case kFailures: return "Failures, restarts and the end";
    case kOutput: return "Output of workers";
    case kSelf: return "robustrun itself";
    case kCheck: return "For robustrun check alone";
    case kSubmit: return "For robustrun submit alone";
    case kPlan: return "For robustrun plan alone";
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
  for (const Option& row : kRows) {
    if (row.file && (underscored(row.name) == wanted || (row.alias && row.alias == wanted))) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace robustrun::cli
