#include "cli/options/help_pages.h"

#include <algorithm>
#include <array>

namespace robustrun::cli {
namespace {

using enum Group;

constexpr std::string_view kRun = R"(usage: robustrun [options] SCRIPT [ARGS...]
       robustrun run [options] SCRIPT [ARGS...]

Starts the workers of a job. The word "run" may be left out. `robustrun --help` lists the options
used most, `robustrun help all` every option. Ends with the exit code of the first worker that
failed; docs/operations.md lists the other exit codes.

Example:
  robustrun --nproc-per-node=8 train.py --lr 0.1)";

constexpr std::string_view kCheckPage = R"(usage: robustrun check [options] [SCRIPT]

Checks the nodes that the options name, as a run does before its first start (more thoroughly with
--preflight=full), and prints a table. Starts agents, but no workers. With SCRIPT it also looks for
the script on each node. Takes the options of a run, and:

@check

Exit codes: 0 all nodes are fit, 94 a node is unfit, slow or missing, 2 bad options.

Example:
  robustrun check --hosts=node[01-16] --gpu)";

constexpr std::string_view kPlanPage = R"(usage: robustrun plan [options] [SCRIPT [ARGS...]]

Shows which of the named hosts a run with the same options would use and which ranks each would get,
compared with natural order, lexicographic order and the optimum. Starts nothing and contacts no
host; within a Slurm allocation it asks Slurm for the topology. Takes the options of a run, and:

@plan

These options of a run matter most:

@placement

Exit codes: 0 shown, 2 bad options.

Example:
  robustrun plan --hosts=node[01-16] --topology=net.toml --explain=node07)";

constexpr std::string_view kSubmitPage =
    R"(usage: robustrun submit --nodes N [options] SCRIPT [ARGS...]

Queues the run as a Slurm job and prints the job's number. All starts of the job are shown as one
run, slurm-JOB. A supervisor that dies is replaced, Slurm's warning before the time limit becomes
SIGTERM for the workers, and a job that ended for an infrastructure fault is queued again, without
the hosts that failed it. Takes the options of a run, and:

@submit

--dry-run prints the batch script; it may be edited and given to sbatch.

Exit codes: 0 queued, 2 bad options, or sbatch refused the job.

Example:
  robustrun submit --nodes 16 --gpus-per-node 8 --time 1-0 train.py)";

constexpr std::string_view kKubernetesPage =
    R"(usage: robustrun k8s --pod-image IMAGE [options] SCRIPT [ARGS...]

Prints the run as a Job of Kubernetes, for `kubectl apply -f -` (docs/kubernetes.md). It needs a
Secret of the job's name with the key "secret", and a volume. Takes the options of a run, on the
command line and from --config, and:

@k8s

  --nodes N          pods, one on each node [1]
  --job-name NAME    name of all objects [the script's]
  --gpus-per-node N  GPUs of each pod, and workers in it unless --nproc-per-node is given
  --cpus-per-task N  processors of each pod
  --mem SIZE         memory of each pod: 200G

Exit codes: 0 printed, 2 bad options.

Example:
  robustrun k8s --nodes=4 --pod-image=site/train:1 /app/train.py)";

constexpr std::string_view kRequeuePage = R"(usage: robustrun requeue [RUN]

Queues the job again in whose batch script it is called.

In Slurm, the hosts that failed RUN in any of its starts, and those that failed several other runs,
are left out. Hosts that the user excluded stay excluded. A host without which the job would not
start is not left out, and is named. After three starts in a row in which no worker ran, the job is
not queued again. The script of `robustrun submit` calls this; in one of your own, `trap '' TERM`
comes before it, because Slurm ends the script as soon as the job is queued.

PBS, Grid Engine and LSF cannot be told which hosts to leave out.

RUN is a run's id or directory; default: slurm-JOB, as `robustrun submit` names it.

Exit codes: 0 queued, 1 the batch system refused, 2 bad input, or not in a job, 93 not queued,
because no worker ran in the last three starts.

Example:
  robustrun requeue slurm-4711)";

constexpr std::string_view kStatusPage = R"(usage: robustrun status [RUN] [--json] [--watch]

Shows the state of a run: its nodes with their ranks and agents, steps and speed, restarts with
their reasons, and where its logs are. RUN is a run's id or directory; default: the newest active
run, else the newest. If the supervisor does not answer, shows what the
journal holds.

  --json    one JSON object (docs/formats/status.md)
  --watch   repeat every second until the run ends

Exit codes: 0 shown, 1 shown from the journal of a run that has not ended and whose supervisor does
not answer, 2 bad input or no such run.

Example:
  robustrun status --watch)";

constexpr std::string_view kTopPage = R"(usage: robustrun top [RUN]

Shows a run live in the terminal: a cell for each rank, with a colour and a letter for its state, so
that the rank that holds the job up is seen at once; its Python line, what the others wait in, the
processors, memory and GPU it uses, and the end of its log; step, speed, loss, ETTR and restarts.
Where the ranks do not fit, a cell is a node, or several. RUN is a run's id or directory; default:
the newest active run, else the newest.

Keys: arrows choose a rank, tab jumps to the next one in trouble, / filters, s sorts, l shows the
log, d diagnoses, i lists incidents, t shows where the time went, ? explains all of them, q quits.
After a question, I injects a fault, E evicts a node, U updates the run, X stops it; nothing
else changes the run.
NO_COLOR turns colours off.

Exit codes: 0 quit, 2 bad input, no such run or no terminal (use robustrun status), 128 + N ended by
signal N.

Example:
  robustrun top)";

constexpr std::string_view kStopPage =
    R"(usage: robustrun stop [RUN] [--signal NAME] [--grace TIME] [--no-wait]

Stops a run as SIGTERM to its supervisor does: the workers get the signal and time to end, then
SIGKILL. The run's exit code is 128 plus the signal's number. Waits for the end. RUN is a run's id
or directory; default: the only active run of this folder, or else of all folders. A second stop
kills the workers at once.

  --signal NAME   send this signal instead of SIGTERM
  --grace TIME    instead of the run's --shutdown-timeout; 0: kill at once
  --no-wait       return once the run has accepted the order

Exit codes: 0 the run has ended (with --no-wait: is ending), 1 it cannot be reached, 2 bad input or
no such run.

Example:
  robustrun stop 20260801-101500-ab12 --grace 5m)";

constexpr std::string_view kAttachPage = R"(usage: robustrun attach [RUN] [--lines N]

Shows the console of an active run from now on, and ends with the run's exit code. Ctrl-C detaches;
the run continues. RUN is a run's id or directory; default: the newest active run.
A reader that is too slow loses output, and is told how much; it never delays the
run.

  -n, --lines N   begin with the last N lines (of the last MiB)

Exit codes: 0 detached, else the run's exit code; 2 bad input or no such run.

Example:
  robustrun attach --lines 50)";

constexpr std::string_view kReportPage = R"(usage: robustrun report [RUN] [-v] [--json]
       robustrun report [RUN] [--html FILE] [--open] [--trace FILE]

Reports what happened in a run, from its journal alone; also while the run is active, and after its
supervisor was killed. RUN is a run's id or directory, or `latest`; default: the newest.

  -v, --verbose  everything: costs of the start, all evidence, every phase of each recovery
  --json         one JSON object (docs/formats/report.md)
  --html FILE    write one page with pictures that needs no network (docs/report.md)
  --open         show that page in the browser; without --html, it is report.html beside the journal
  --trace FILE   write a trace for Perfetto, chrome://tracing or speedscope

Exit codes: 0 shown or written, 1 the journal cannot be read, 2 bad input or no such run.

Example:
  robustrun report --html report.html --open)";

constexpr std::string_view kResumePage = R"(usage: robustrun resume [RUN] [--detach]

Supervises a run whose supervisor is gone (killed, upgraded, machine rebooted), from this host or
from another one that sees the run's directory. On several machines the workers continue untouched
if this happens within --orphan-grace. On a single machine the workers ended with their supervisor
and are restarted. RUN is a run's id or directory; default: the newest. Ends
with the run's exit code.

  --detach   return once the run is supervised again, as a run does with --detach

Exit codes: those of a run.

Example:
  robustrun resume --detach)";

constexpr std::string_view kUpdatePage =
    R"(usage: robustrun update [RUN] [--now | --within TIME]
                        [--code DIR [--code-root DIR]] [--env NAME=VALUE]...
                        [--unset NAME]... [--args ARG...]
       robustrun update [RUN] --rollback [VERSION] [--now | --within TIME]
       robustrun update [RUN] --list [--json]

Gives the workers of an active run new code, variables or arguments, from the next restart on or at
once. If the workers fail with them before first progress, the run goes back to the newest older
version that worked, or else to the newest that has not failed. RUN is a run's id or directory;
default: the only active run of this folder, or else of all folders; with --list the newest active
run, else the newest.

  --now               restart the workers for it at once
  --within TIME       otherwise restart them after this time at the latest [24h; 0: no limit]
  --code DIR          take the script and the files beside it from a copy of DIR
  --code-root DIR     the folder that DIR replaces [the run's working directory, or the script's
                      folder if that is outside of it]
  --env NAME=VALUE    set a variable; may be repeated
  --unset NAME        remove a variable; may be repeated
  --args ARG...       replace all arguments of the script; must be the last option
  --rollback VERSION  return to this version; without a number: cancel the waiting update or, if
                      none waits, go back to the newest older version that worked
  --list              list the versions: number, time, changes and outcome
  --json              print the list as JSON

Prints the version's number.

Exit codes: 0 done, 1 the run refused or cannot be reached, 2 bad input or no such run.

Example:
  robustrun update --code ./fixed --env LR=0.0003 --now)";

constexpr std::string_view kDiagnosePage = R"(usage: robustrun diagnose [RUN] [--json] [--html FILE]
       robustrun diagnose --from PATH... [--json] [--html FILE]

Finds the rank that blocks the job, now. RUN is a run's id or directory; default: the newest active
run.

With --from, finds it in the files that a hung job left; robustrun need not have started that job.
PATH is a file, or a folder, of:
  - dumps of PyTorch's Flight Recorder, pickle or JSON, one per rank, named with the rank at the
    end (nccl_trace_rank_7), as torch names them
  - progress records of robustrun
  - reports of NCCL's RAS, JSON or text

Other files in a folder are skipped. docs/operations.md says how to make a job leave dumps.

  --json       one JSON object (docs/formats/diagnosis.md)
  --html FILE  also write one page that shows which rank waits for which; it needs no network

Exit codes: 0 a verdict, even if no rank is blocked; 1 the run cannot be asked, or the files cannot
be used; 2 bad input or no such run.

Example:
  robustrun diagnose --from /tmp/nccl_trace_rank_*)";

constexpr std::string_view kInjectPage =
    R"(usage: robustrun inject [RUN] KIND [--rank N | --node HOST] [--for TIME]
                        [--delay TIME] [--after TIME] [--every TIME] [--seed N]

Injects a fault into an active run of this machine, for drills. RUN is a run's id or directory;
default: the newest. Without --rank and --node a target is drawn.

@faults

  --rank N          the rank to hit
  --node HOST       the node to hit
  --for TIME        duration of the fault [10s; stop: for ever]
  --delay TIME      delay of each message, for net-delay [1s]
  --after TIME      wait before the first fault
  --every TIME      repeat until the run ends
  --seed N          determines the target; printed when a target is drawn

Exit codes: 0 done, 1 the run could not do it, 2 bad input or no such run.

Example:
  robustrun inject kill --rank 3 --after 30s)";

constexpr std::string_view kReplayPage =
    R"(usage: robustrun replay --hosts LIST [--unit N] [options] [SCRIPT [ARGS...]]

Finds the machine that makes a job go wrong without a visible fault. Runs SCRIPT (the job, made
smaller), or else the bit-wise alignment test, on groups of the hosts at the same time, then on
other groups; a single faulty machine is the one that the failed groups share. A group fails if its
exit code is not 0, or at its --time-limit (default 10 minutes). Prints the suspects on standard
output, one a line, and all else on standard error. Takes the options of a run, and:

@replay

Exit codes: 0 no group failed, 3 one machine is suspected, 4 several candidates, 1 the replay could
not be done, 2 bad input, 128 + n signal n ended it.

Example:
  robustrun replay --hosts=node[01-16] --nproc-per-node=8 small.py)";

constexpr std::string_view kCkptPage = R"(usage: robustrun ckpt ls DIRECTORY... [--json]
       robustrun ckpt inspect DIRECTORY... [--step N] [--json]
       robustrun ckpt verify DIRECTORY... [--step N | --all] [--json]
       robustrun ckpt repair DIRECTORY... [--step N | --all] [--json]
       robustrun ckpt prune DIRECTORY... --keep N [--json]
       robustrun ckpt pin DIRECTORY... --step N [--json]
       robustrun ckpt unpin DIRECTORY... --step N [--json]
       robustrun ckpt export DIRECTORY... --to FORMAT OUT [--step N] [--rank N]

Works on checkpoints that robustrun wrote; needs no active job. If the checkpoints are spread over
several directories, name all of them, in any order.

  ls        list every checkpoint, newest first, and the remains of unfinished ones
  inspect   show the tensors, files and states of one
  verify    read everything and report damage
  repair    restore damaged or missing files from parity, and lost copies of the manifest
  prune     verify the N newest unless that was done, then remove older ones and the remains of
            crashes; safe while a job runs
  pin       exempt a checkpoint from prune; an older pinned one does not count among the N
  unpin     undo pin
  export    write one to OUT, which must not exist, in a format that needs no robustrun:
            safetensors (a folder of whole tensors), dcp (a folder for
            torch.distributed.checkpoint) or torch (a file for torch.load). Verifies every byte.
            If each rank saved its own state: a folder with files of each rank, or --rank. Needs
            Python and torch, found as for a run

  --step N     the checkpoint of this step [the newest]
  --all        all checkpoints
  --keep N     number of checkpoints to keep, at least 1
  --to FORMAT  safetensors, dcp or torch
  --rank N     export only this rank's state, if each rank saved its own
  --json       JSON on standard output (docs/checkpoint-format.md)

Exit codes: 0 done, or all is sound; 1 something is damaged, could not be removed or does not exist,
or a directory or its lock did not become available within a minute; 2 bad input or no such
directory.

Example:
  robustrun ckpt verify /shared/checkpoints --all)";

constexpr std::string_view kCachePage = R"(usage: robustrun cache ls [--cache-dir DIR] [--json]
       robustrun cache verify [--cache-dir DIR] [--json]
       robustrun cache gc [--max GIB] [--unused TIME] [--cache-dir DIR] [--json]

Shows and cleans what this machine keeps for faster starts: snapshots of dependencies
(docs/snapshots.md), blocks of images and staged files (blobs, docs/images.md), code of --sync-code,
and read-ahead profiles (docs/startup.md).

  ls       list the entries, most recently used first
  verify   read snapshots and blobs and report damage; damaged blocks are dropped, and fetched
           again when needed
  gc       remove damaged entries, remains of crashes, and what --max and --unused select, least
           recently used first; never what is in use

  --max GIB        size limit of all snapshots, and again of all blobs [$ROBUSTRUN_CACHE_MAX, else
                   64]
  --unused TIME    remove what was not used for this time (30d, 12h)
  --cache-dir DIR  the cache, as for a run
  --json           one JSON object

Exit codes: 0 done, or all is sound; 1 something is damaged, or is in use and could not be removed;
2 bad input.

Example:
  robustrun cache gc --max 32 --unused 30d)";

constexpr std::string_view kDataPage =
    R"(usage: robustrun data plan FILE [--ranks N] [--steps N] [--json]
       robustrun data prepare FILE [--processes N] [--part I/N]
       robustrun data bench FILE [--ranks N] [--seconds S] [--json]
       robustrun data audit FILE PATH... [--json]

  plan     show what a specification of training data (docs/data.md) means for a job: how often
           each source is read, how well ranks are balanced beside the order of arrival, and how
           much is padding; reads the lengths of all samples, and no tokens
  prepare  tokenize the sources that are text (JSON lines, Parquet, Arrow), once. Files that are
           tokenized already are left alone, so an interrupted call can be repeated
  bench    read batches of rank 0 as fast as possible, and then each source alone: how many tokens
           per second this machine feeds a rank, how long a batch takes, and which source is slow
  audit    check that a training was given each sample once, from the loader's states in its
           checkpoints, and name samples that were given twice or left out. PATH...: the
           directories of robustrun.checkpoint.save, or files of torch.save

  --ranks N      data-parallel ranks [1]
  --seconds S    how long batches are read, and at most as long again the sources alone [10]
  --steps N      steps to plan, from the first one [20]
  --json         one JSON object
  --processes N  processes that tokenize [all processors]
  --part I/N     only part I of N of each source's files, for several machines

Exit codes: 0 planned, prepared, measured, or each sample given once, 1 prepare failed: disk,
memory; audit found something, 2 bad input: the file, a source, a record, a state, or ranks that
cannot share a step.

Example:
  robustrun data plan data.toml --ranks 8)";

constexpr std::string_view kNodesPage =
    R"(usage: robustrun nodes [HOST...] [--run RUN] [--node-history DIR]
                       [--json | --names]
       robustrun nodes forget HOST... [--node-history DIR]

Lists the hosts that earlier runs blame, the worst first: hosts that were lost, found unfit, blocked
others or were slow, within 30 days. A loss, an eviction or a failed check weighs 2, a hang or
slowness 1; a host with 4 or more, from two runs or more, is taken last by later runs. `robustrun
check --preflight=full --hosts=HOST,...` clears the hosts that pass; `forget` drops what is noted
about hosts, as after a repair.

  --node-history DIR  read this folder instead of the default one
  --run RUN           what this run notes, with all starts of its Slurm job
  --names             only the names of the hosts to avoid, in one line for sbatch --exclude
  --json              one JSON array

Exit codes: 0 shown, or nothing is noted about these hosts any more; 2 bad input.

Example:
  robustrun nodes node07)";

constexpr std::string_view kPolicyPage = R"(usage: robustrun policy [--policy FILE]

Shows in words what a run with these options would do about faults: the shipped policy with the
changes of FILE. docs/policy.md lists the keys.

Exit codes: 0 shown, 2 bad input.

Example:
  robustrun policy --policy site.toml)";

constexpr std::string_view kSimPage =
    R"(usage: robustrun sim [--nodes N] [--preset NAME | --failures FILE] [options]
       robustrun sim --from-journal RUN... [options]
       robustrun sim --replay RUN [--from-journal RUN...] [--json]

Simulates the ETTR of a job on a cluster: the share of its time that goes into steps that are kept.
robustrun's own core decides about simulated failures in virtual time, beside other policies with
their published times. docs/sim.md explains the output, and which numbers are measured, published or
assumed.

  --nodes N               machines that train [128]
  --gpus-per-node N       GPUs per machine [8]
  --spares N              spare machines; auto: the recommended number [auto]
  --preset NAME           failures of a published cluster: rsc-1, rsc-2, llama3,
                          byterobust-dense, byterobust-moe or ft-hsdp [llama3]
  --failures FILE         failures of your own, in TOML
  --from-journal RUN...   take failures and times from your own runs: journals, run directories
                          or folders of them; options given here win
  --replay RUN            replay the failures of this run, with the times of --from-journal, and
                          compare both ETTRs
  --step-time TIME        time of a training step [6s]
  --start TIME            time from the script's start until it can train [1m]
  --checkpoint-every TIME  interval between checkpoints of robustrun; step: after each step
                          [the best, also for the other policies]
  --checkpoint-save TIME  time that training stalls for a checkpoint [5s]
  --checkpoint-load TIME  time to load a checkpoint [30s]
  --residual TIME         time lost per incident that no model explains, for every policy [15m]
  --days N                length of the job [54]
  --seeds N               number of simulated runs, each with its own failures [20]
  --seed N                first seed; the same seeds give the same result [1]
  --compare LIST          torchrun, torchrun-slow, byterobust, byterobust-all-in, or none
                          [torchrun,byterobust]
  --policy FILE           changes of the policy, as for a run
  --json                  one JSON object
  --svg FILE              write a chart of where the time goes

Exit codes: 0 shown, 2 bad input.

Example:
  robustrun sim --nodes 1250 --preset byterobust-dense)";

constexpr std::string_view kDemoPage = R"(usage: robustrun demo

Trains a small network on two ranks of this machine, on processors, with the torch of your Python.
Halfway rank 1 is killed with SIGKILL; the run recovers from its last checkpoint, ends, and shows
its report. It takes about 20 s and needs no GPU.

Exit codes: 0 it recovered, 2 there is no Python with torch, else as for a run.

Example:
  robustrun demo)";

constexpr std::string_view kLsPage = R"(usage: robustrun ls [--all] [--json | --ids]

Lists your runs, the newest first, from whatever directory they were started: state, nodes and
workers on each, age, step, incidents, and size on disk. All starts of a Slurm job are one row.
Subcommands with a RUN accept an id of this list, a run directory, or `latest`.

  -a, --all  all runs, not only the newest 20
  --json     one JSON object
  --ids      only the ids of all runs, one per line

Exit codes: 0 shown, 2 bad input.

Example:
  robustrun ls)";

constexpr std::string_view kLogsPage =
    R"(usage: robustrun logs [RUN] [--rank N] [--attempt N] [--follow] [--stderr]
                           [--grep RE]

Shows what the workers wrote, rank by rank, stdout before stderr. RUN is a run's id or directory;
default: the newest active run, else the newest.

  --rank N      only this rank
  --attempt N   this start of the workers, counted from 0 [the last one]
  -f, --follow  continue with new lines, across restarts, until the run ends or Ctrl-C
  --stderr      only stderr
  --grep RE     only lines that match, as `grep -E` does

Exit codes: 0 shown, 2 bad input, no such run, or it keeps no logs.

Example:
  robustrun logs latest --rank 3 --grep 'loss|error')";

constexpr std::string_view kRmPage = R"(usage: robustrun rm RUN... [--dry-run]
       robustrun rm --older-than TIME [--dry-run]

Removes the directories of runs that have ended, with journals and logs, and prints them. An active
run always stays, and so does a run whose supervisor died. Logs that --log-dir put elsewhere stay,
too.

  --older-than TIME  all runs that ended longer ago than this: 14d, 12h
  -n, --dry-run      print what would be removed

Exit codes: 0 removed, 1 some runs stay (the reason is printed), 2 bad input or no such run.

Example:
  robustrun rm --older-than 14d --dry-run)";

constexpr std::string_view kDoctorPage = R"(usage: robustrun doctor [--json]
       robustrun doctor --hosts LIST [options] [--json]

Shows what works on this machine, what does not, and what to do about it: kernel, cgroups, tools for
stacks, FUSE, user namespaces, memory, open files, SSH, Slurm, munge, GPUs, Python, torch, and
robustrun's own files. Starts no agent and changes nothing. Each line is ok, warn (robustrun does
without, or a limit is low) or bad (runs will fail). What is optional and not here is listed last.

With hosts, asks each of them over SSH and shows what fails or differs, with the hosts. A host
without robustrun gets it, as for a run; Python is looked for where a run from here would take it. A
host without an answer is listed with the reason. `robustrun check` tests nodes for a run.

  --hosts LIST         these machines, as for a run: node[01-16],user@host:2222
  --hostfile FILE      the hosts of this file
  --ssh-transport auto|libssh2|openssh  the client [auto]
  --ssh-command CMD    the ssh program and its options
  --ssh-fanout N       number of hosts to connect to at once [64]
  --ssh-timeout TIME   time limit for connections, login and shell, per host [30]
  --json               one JSON object, or with hosts an array (docs/formats/doctor.md)

Exit codes: 0 nothing is bad; 1 something is, or a host did not answer; 2 bad input.

Example:
  robustrun doctor --hosts node[01-16])";

constexpr std::string_view kCompletionPage = R"(usage: robustrun completion SHELL

Prints the script by which SHELL completes robustrun's command lines: subcommands, options, their
values, and ids of runs. SHELL is bash or zsh. Packages install both scripts. By hand, in ~/.bashrc
or, below compinit, in ~/.zshrc:

  source <(robustrun completion bash)
  source <(robustrun completion zsh)

Exit codes: 0 printed, 2 bad input.

Example:
  robustrun completion bash)";

constexpr std::string_view kHelpPage = R"(usage: robustrun help [TOPIC] [--markdown | --man]

TOPIC is a subcommand, a group of options, or one of:
  values    where values come from: command line, environment, file, defaults
  torchrun  torchrun's options
  all       every option and every subcommand

Without TOPIC prints the first page, as `robustrun --help` does.

  --markdown   print docs/cli.md
  --man        print the manual page robustrun(1)

Exit codes: 0 shown, 2 no such topic.

Example:
  robustrun help failures)";

constexpr std::string_view kVersionPage = R"(usage: robustrun version

Prints the version.

Example:
  robustrun version)";

constexpr auto kCommands = std::to_array<CommandPage>({
    {"run", "start a job; the word may be left out", kRun},
    {"check", "check nodes and GPUs without a job", kCheckPage},
    {"plan", "show which node would get which ranks, and why", kPlanPage},
    {"submit", "queue the run as a Slurm job", kSubmitPage},
    {"requeue", "queue this batch job again; in Slurm without failed hosts", kRequeuePage},
    {"k8s", "print the run as a Job of Kubernetes", kKubernetesPage},
    {"demo", "a small training that loses a rank and recovers", kDemoPage},
    {"doctor", "show what works here, or on hosts, and what to do", kDoctorPage},
    {"ls", "list your runs", kLsPage},
    {"logs", "show what the workers wrote", kLogsPage},
    {"rm", "remove runs that have ended", kRmPage},
    {"status", "show state, nodes, steps and restarts of a run", kStatusPage},
    {"top", "watch the ranks of a run, live", kTopPage},
    {"attach", "show the console of an active run", kAttachPage},
    {"stop", "stop a run", kStopPage},
    {"resume", "supervise a run whose supervisor is gone", kResumePage},
    {"update", "give an active run new code, variables or arguments", kUpdatePage},
    {"report", "report what happened in a run", kReportPage},
    {"diagnose", "find the rank that blocks a job, live or from dumps", kDiagnosePage},
    {"inject", "inject a fault into an active run, for drills", kInjectPage},
    {"replay", "find a faulty machine by running groups of hosts", kReplayPage},
    {"ckpt", "list, verify, repair, prune and export checkpoints", kCkptPage},
    {"cache", "list, verify and clean what is kept for faster starts", kCachePage},
    {"data", "tokenize training data; plan, measure and audit its steps", kDataPage},
    {"nodes", "list the hosts that failed earlier runs", kNodesPage},
    {"policy", "show what is done about which fault", kPolicyPage},
    {"sim", "simulate the ETTR of a job: spares, checkpoints, policies", kSimPage},
    {"completion", "print the completion script for bash or zsh", kCompletionPage},
    {"help", "help on a subcommand, a group of options, or all", kHelpPage},
    {"version", "print the version", kVersionPage},
});

constexpr auto kGroups = std::to_array<GroupPage>({
    {kWhat, "workers", "program, workers per node, CPUs, images, dependencies, code",
     "robustrun --nproc-per-node=8 --deps=requirements.txt train.py"},
    {kRendezvous, "cluster", "hosts, SSH, Slurm, rendezvous, spares, preflight",
     "robustrun --hosts=node[01-16] --spares=2 --nproc-per-node=gpu train.py"},
    {kPlacement, "placement", "network topology, and which rank runs where",
     "robustrun --hostfile=hosts --topology=net.toml --parallel=tp=8,pp=2 train.py"},
    {kFailures, "failures", "restarts, hangs, lost nodes, time limits, stopping",
     "robustrun --max-restarts=5 --hang-timeout=5m train.py"},
    {kOutput, "output", "logs and console of the workers",
     "robustrun --nproc-per-node=8 --redirects=3 --tee=0:3 train.py"},
    {kSelf, "general", "configuration, run directory, robustrun's log, metrics, events",
     "robustrun --config=job.toml --print-config=toml"},
    {kCheck, "check", "", ""},
    {kSubmit, "submit", "", ""},
    {kKubernetes, "k8s", "", ""},
    {kPlan, "plan", "", ""},
    {kReplay, "replay", "", ""},
});

}  // namespace

std::span<const CommandPage> command_pages() { return kCommands; }

const CommandPage* find_command_page(std::string_view name) {
  const auto* const found = std::ranges::find(kCommands, name, &CommandPage::name);
  return found == kCommands.end() ? nullptr : found;
}

std::span<const GroupPage> group_pages() { return kGroups; }

}  // namespace robustrun::cli
