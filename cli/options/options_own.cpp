// Our own options of a run, in the order of OptionId.

#include <array>

#include "cli/options/limits.h"
#include "cli/options/options_rows.h"

namespace robustrun::cli {
namespace {

using enum OptionId;
using enum Type;
using enum Group;

// clang-format off
constexpr auto kOwnRows = std::to_array<Option>({
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
  {.id = kCopiesRate, .name = "copies-rate", .type = kInteger, .values = "MIB", .native = "1024",
   .group = kFailures, .min = 4, .max = 1'048'576,
   .help = "MiB a second that each node sends at most, of its workers' copies in memory to the "
           "node that keeps them."},
  {.id = kMetricsPort, .name = "metrics-port", .type = kWord, .values = "[HOST:]PORT",
   .group = kSelf,
   .help = "Serve metrics for Prometheus at http://HOST:PORT/metrics; 0: any free port, which is "
           "said. Without HOST this machine alone can read them (docs/metrics.md)."},
  {.id = kMetricsFile, .name = "metrics-file", .values = "FILE", .group = kSelf,
   .help = "Write the same metrics here every 15 s and at the end, for the textfile collector of "
           "the node exporter."},
  {.id = kEvents, .name = "events", .values = "FILE|fd:N", .group = kSelf,
   .help = "Append what happens and what is decided, one JSON object a line, to a file or an open "
           "descriptor (docs/formats/events.md)."},
  {.id = kOnIncident, .name = "on-incident", .values = "CMD", .group = kSelf,
   .help = "Run this on every incident, with its JSON as standard input and 30 s of time. Quotes "
           "work as in a shell, nothing else does."},
  {.id = kFaults, .name = "faults", .values = "FILE", .group = kFailures,
   .help = "What failures of this site look like, besides those known: docs/faults.md."},
  {.id = kPolicy, .name = "policy", .values = "FILE", .group = kFailures,
   .help = "What is done about faults, where it differs from what `robustrun policy` says: "
           "docs/policy.md."},
  {.id = kHealth, .name = "health", .type = kChoice, .values = "on|off", .native = "on",
   .compat = "off", .group = kFailures,
   .help = "Watch the machines while the job runs: kernel log, GPUs, links, file systems, memory, "
           "clock (docs/health.md)."},
  {.id = kStandby, .name = "standby", .type = kChoice, .values = "off|spares|all",
   .native = "all", .compat = "off", .group = kFailures,
   .help = "Keep interpreters that have imported already what workers import, for the next start: "
           "on spare nodes, or on all. None where they would need too much memory."},
  {.id = kLineMetrics, .name = "line-metrics", .type = kFilters, .values = "NAME=TEXT,...",
   .group = kFailures,
   .help = "Numbers to read from the output of rank 0, as if the script had called robustrun.step: "
           "'loss=iter *loss: {value},grad_norm=norm={value}'. In the text {value} is the number, "
           "* any bytes, ,, a comma; what is watched: docs/metrics.md."},
  {.id = kReplayCommand, .name = "replay-cmd", .values = "CMD", .group = kFailures,
   .help = "What groups of nodes run when the policy has them replayed, instead of the alignment "
           "test: your script with fewer layers and steps, which ends with another code than 0 "
           "when it goes wrong (docs/alignment.md). Quotes work as in a shell, nothing else does."},
  {.id = kPrefetch, .name = "prefetch", .type = kChoice, .values = "auto|on|off",
   .native = "auto", .compat = "off", .group = kWhat,
   .help = "Remember which files workers read until their first step, and read them ahead at the "
           "next start; auto: if interpreter or script lie on shared storage (docs/startup.md)."},
  {.id = kCacheDir, .name = "cache-dir", .values = "auto|DIR", .native = "auto", .compat = "auto",
   .group = kWhat,
   .help = "Where what makes the next start faster is kept, on each node; auto: robustrun in "
           "$XDG_CACHE_HOME or ~/.cache."},
  {.id = kCacheMax, .name = "cache-max", .type = kInteger, .values = "GIB", .native = "0",
   .group = kWhat, .min = 0, .max = kCacheMaxGib,
   .help = "Snapshots of dependencies in the cache take at most this, and images and staged files "
           "as much again; those unused for longest go. 0: 64 for snapshots, for the rest what the "
           "disk has."},
  {.id = kImage, .name = "image", .values = "PATH|URL", .group = kWhat,
   .help = "A squashfs image with the workers' environment, mounted on each node and never "
           "unpacked: a path that every node sees, or http(s)://…, with #sha256=HEX behind it if "
           "its content is to be checked (docs/images.md)."},
  {.id = kImageMode, .name = "image-mode", .type = kChoice, .values = "auto|pagecache|blocks",
   .native = "auto", .compat = "auto", .group = kWhat,
   .help = "pagecache: mount it where it lies, and read ahead what starts read of it. blocks: "
           "fetch blocks of it, those that starts read first, and keep them in --cache-dir. auto: "
           "blocks for a URL, pagecache for a path."},
  {.id = kContainerRuntime, .name = "container-runtime", .type = kChoice,
   .values = "auto|none|bwrap|apptainer|enroot", .native = "auto", .compat = "auto",
   .group = kWhat,
   .help = "How workers see the image. none: its folders stand first on PATH. The others make it "
           "their root. auto: bwrap for the image of a system, none for one of packages alone."},
  {.id = kContainerMounts, .name = "container-mounts", .type = kList, .values = "SRC:DST[:ro],…",
   .group = kWhat,
   .help = "What else of the node workers see in a container; working directory, home and /tmp "
           "are there anyway."},
  {.id = kStage, .name = "stage", .type = kFilters, .values = "FILE,...", .group = kWhat,
   .help = "Bring these files, which at least one node can read, into the cache of each node "
           "before workers start; they find them in $ROBUSTRUN_STAGE_DIR. Each is read from its "
           "storage once, and passed on between nodes (docs/startup.md). ,, is a comma."},
  {.id = kSyncCode, .name = "sync-code", .values = "DIR", .group = kWhat,
   .help = "Bring the code in this folder, as it is now, to every node, and start workers there: "
           "for nodes that do not share it. What git ignores, version control, bytecode and "
           "virtual environments stay behind (docs/startup.md)."},
  {.id = kPeersRate, .name = "peers-rate", .type = kInteger, .values = "MIB", .native = "0",
   .group = kWhat, .min = 0, .max = 1'048'576,
   .help = "MiB a second that each node sends at most, of staged files and images to other nodes; "
           "0: no limit."},
  {.id = kDeps, .name = "deps", .values = "FILE", .group = kWhat,
   .help = "Install what a requirements.txt, uv.lock, pyproject.toml or environment.yml names, "
           "once for all runs with the same content, and put it in front of the workers' "
           "environment (docs/snapshots.md)."},
  {.id = kSetupCmd, .name = "setup-cmd", .values = "CMD", .group = kWhat,
   .help = "The same by a command of yours: what it installs with pip, or into "
           "${ROBUSTRUN_PREFIX}, is kept. Quotes work as in a shell, nothing else does."},
  {.id = kDepsTtl, .name = "deps-ttl", .type = kDuration, .values = "TIME", .native = "7d",
   .group = kWhat, .min = 0,
   .help = "How long dependencies without pinned versions are good; then they are installed anew."},
});
// clang-format on
static_assert(times_have_a_least_value(kOwnRows));

}  // namespace

std::span<const Option> own_rows() { return kOwnRows; }

}  // namespace robustrun::cli
