// The help of status, stop, attach, ckpt, cache, diagnose, nodes and update.

#include "cli/options/help_text.h"

namespace robustrun::cli {

std::string status_help() {
  return "usage: robustrun status [RUN] [--json] [--watch]\n\n"
         "How a run stands: its state, its nodes with their ranks and agents, steps and their\n"
         "speed, restarts and why, and where its logs are. RUN is a run's id or directory; "
         "without\n"
         "it, the newest below ./robustrun-runs that goes on, or the newest. When the supervisor\n"
         "does not answer, what the journal says.\n\n"
         "  --json    one JSON object (docs/formats/status.md)\n"
         "  --watch   again every second, until the run ends\n\n"
         "Exit codes: 0 shown, 1 shown from the journal of a run that has no end and whose\n"
         "supervisor does not answer, 2 bad input or no such run.\n";
}

std::string stop_help() {
  return "usage: robustrun stop [RUN] [--signal NAME] [--grace TIME] [--no-wait]\n\n"
         "Ends a run as SIGTERM to its supervisor does: the workers get the signal and have time "
         "to\n"
         "end by themselves; then they are killed. The run's exit code is 128 plus the signal's\n"
         "number. Waits until it has ended. RUN is a run's id or directory; without it, the one\n"
         "below ./robustrun-runs that goes on. A second stop kills the workers at once.\n\n"
         "  --signal NAME   instead of SIGTERM\n"
         "  --grace TIME    instead of the run's --shutdown-timeout; 0: kill at once\n"
         "  --no-wait       return when the run has been told\n\n"
         "Exit codes: 0 the run has ended (or, with --no-wait, will), 1 it cannot be reached, 2 "
         "bad\n"
         "input or no such run.\n";
}

std::string attach_help() {
  return "usage: robustrun attach [RUN] [--lines N]\n\n"
         "Shows the console of a running job as its own command would, from now on, and ends with\n"
         "its exit code. Ctrl-C only ends the showing. RUN is a run's id or directory; without "
         "it,\n"
         "the newest below ./robustrun-runs that goes on. Who reads slowly misses output (how "
         "much\n"
         "is said); the run is never held up.\n\n"
         "  -n, --lines N   begin with the last N lines (of the last MiB)\n";
}

std::string ckpt_help() {
  return "usage: robustrun ckpt ls DIRECTORY... [--json]\n"
         "       robustrun ckpt inspect DIRECTORY... [--step N] [--json]\n"
         "       robustrun ckpt verify DIRECTORY... [--step N | --all] [--json]\n"
         "       robustrun ckpt repair DIRECTORY... [--step N | --all] [--json]\n"
         "       robustrun ckpt prune DIRECTORY... --keep N [--json]\n"
         "       robustrun ckpt pin DIRECTORY... --step N [--json]\n"
         "       robustrun ckpt unpin DIRECTORY... --step N [--json]\n"
         "       robustrun ckpt export DIRECTORY... --to FORMAT OUT [--step N] [--rank N]\n\n"
         "Checkpoints that robustrun wrote, without a job. DIRECTORY is where they are; when they\n"
         "are spread over several, all of them, in any order.\n\n"
         "  ls        every checkpoint, newest first, and what is left of others\n"
         "  inspect   the tensors, files and states of one\n"
         "  verify    reads everything and says what is damaged\n"
         "  repair    puts what is damaged or missing together again from parity, and writes\n"
         "            copies of the manifest anew\n"
         "  prune     reads the N newest back, if that was not done, and when they are sound\n"
         "            removes what is older, and what crashes left of others; a job may go on\n"
         "  pin       prune never removes it, nor counts it among the N if it is older; unpin\n"
         "            takes that back\n"
         "  export    writes one to OUT, which must not be there, in a format that needs no\n"
         "            robustrun: safetensors (a folder of whole tensors), dcp (a folder for\n"
         "            torch.distributed.checkpoint) or torch (a file for torch.load). Every\n"
         "            byte is checked on the way. Where each rank saved a state of its own: a\n"
         "            folder with files of each rank, or --rank. Needs Python and torch, as\n"
         "            robustrun run finds them.\n\n"
         "  --step N  of this step; without it the newest\n"
         "  --all     all of them\n"
         "  --keep N  how many stay, at least 1\n"
         "  --to FORMAT  safetensors, dcp or torch\n"
         "  --rank N  of states that ranks saved for themselves, that one's alone\n"
         "  --json    JSON on the standard output (docs/checkpoint-format.md)\n\n"
         "Exit codes: 0 shown or done, or all is sound; 1 something is damaged or could not be\n"
         "removed, there is none, or a directory or who holds its lock was waited for in vain (a\n"
         "minute each); 2 bad input or no such directory.\n";
}

std::string cache_help() {
  return "usage: robustrun cache ls [--cache-dir DIR] [--json]\n"
         "       robustrun cache verify [--cache-dir DIR] [--json]\n"
         "       robustrun cache gc [--max GIB] [--unused TIME] [--cache-dir DIR] [--json]\n\n"
         "What is kept on this machine so that the next start is faster: snapshots of "
         "dependencies\n"
         "(docs/snapshots.md), blocks of images and staged files (blobs, docs/images.md), code of\n"
         "--sync-code, and profiles of what is read ahead (docs/startup.md).\n\n"
         "  ls       what there is, the last used first\n"
         "  verify   reads snapshots and blobs and says what is damaged; blocks that are wrong "
         "are\n"
         "           forgotten, and fetched again by who needs them\n"
         "  gc       removes what is damaged and what crashes left, and what --max and --unused\n"
         "           say, the longest unused first; never what is in use\n\n"
         "  --max GIB        snapshots together take at most this, and blobs together as much\n"
         "                   again [$ROBUSTRUN_CACHE_MAX, else 64]\n"
         "  --unused TIME    what nobody used for this time goes (30d, 12h)\n"
         "  --cache-dir DIR  as of robustrun run\n"
         "  --json           one JSON object\n\n"
         "Exit codes: 0 shown or done, or all is sound; 1 something is damaged, or is in use and\n"
         "would have gone; 2 bad input.\n";
}

std::string diagnose_help() {
  return "usage: robustrun diagnose [RUN] [--json]\n"
         "       robustrun diagnose --from PATH... [--json]\n\n"
         "Says whom the workers of a run wait for, now. RUN is a run's id or directory; without\n"
         "it, the newest below ./robustrun-runs that goes on.\n\n"
         "With --from, whom a hung job waits for by the files that it left; it need not have\n"
         "been started by robustrun. PATH is a file or a folder of:\n\n"
         "  dumps of PyTorch's Flight Recorder, pickle or JSON, one per rank, whose name ends in\n"
         "  the rank (nccl_trace_rank_7), as torch calls them\n"
         "  progress records of robustrun\n"
         "  reports of NCCL's RAS, JSON or text\n\n"
         "In a folder other files are passed over. docs/operations.md says how a job comes to\n"
         "leave dumps.\n\n"
         "  --json    one JSON object (docs/formats/diagnosis.md)\n\n"
         "Exit codes: 0 a verdict, also that no rank is blocked, 1 the run cannot be asked or the\n"
         "files cannot be used, 2 bad input or no such run.\n";
}

std::string nodes_help() {
  return "usage: robustrun nodes [HOST...] [--node-history DIR] [--json]\n\n"
         "Lists the hosts that earlier runs blame, the worst first: those that were lost, found\n"
         "unfit, held the others up, or were slow, within 30 days. A host that was blamed in two\n"
         "runs or more, for sure faults, is taken last by the next runs. `robustrun check\n"
         "--preflight=full --hosts=HOST,...` clears those that pass.\n";
}

std::string policy_help() {
  return "usage: robustrun policy [--policy FILE]\n\n"
         "Says what a run with these options would do about faults: the shipped policy with the\n"
         "changes of FILE. docs/policy.md has the keys.\n";
}

std::string update_help() {
  return "usage: robustrun update [RUN] [--now | --within TIME] [--code DIR [--code-root DIR]]\n"
         "                        [--env NAME=VALUE]... [--unset NAME]... [--args ARG...]\n"
         "       robustrun update [RUN] --rollback [VERSION] [--now | --within TIME]\n"
         "       robustrun update [RUN] --list [--json]\n\n"
         "Gives the workers of a run other code, variables or arguments, without a new start of\n"
         "the run: from the next restart on, or at once. When they fail with it before first\n"
         "progress, the run goes back to the version before by itself. RUN is a run's id or\n"
         "directory; without it, the one below ./robustrun-runs that goes on.\n\n"
         "  --now               the workers are stopped and started again for it\n"
         "  --within TIME       otherwise at the latest after this time [24h; 0: no limit]\n"
         "  --code DIR          the script and what lies beside it are taken from a copy of DIR\n"
         "  --code-root DIR     what DIR stands for: where the script's path begins in it [the\n"
         "                      run's working directory, or the script's folder outside of it]\n"
         "  --env NAME=VALUE    set a variable; again for more\n"
         "  --unset NAME        take a variable away; again for more\n"
         "  --args ARG...       all arguments of the script; the last option\n"
         "  --rollback VERSION  go back to a version; without a number to the one before\n"
         "  --list              the versions: number, when, what changed, and what became of it\n"
         "  --json              that list as JSON\n\n"
         "Prints the version's number. Exit codes: 0 done, 1 the run does not take it or cannot\n"
         "be reached, 2 bad input or no such run.\n";
}

std::string replay_help() {
  return "usage: robustrun replay --hosts LIST [--unit N] [options] [SCRIPT [ARGS...]]\n\n"
         "Which machine makes a job go wrong that shows nothing by itself? Runs SCRIPT (the job,\n"
         "made smaller), or without one the bit-wise alignment test, on groups of the hosts at\n"
         "the same time, then on other groups; one faulty machine is the one that the groups\n"
         "that failed have in common. A run fails that ends with anything but 0, also by its\n"
         "--time-limit (default 10 minutes). The suspects are printed, one a line; all else goes\n"
         "to stderr. Other options are those of a run.\n\n"
         "  --unit N   machines that one copy of the model takes: groups hold a multiple of it\n\n"
         "Exit codes: 0 no group failed, 3 one machine is named, 4 there are several candidates,\n"
         "1 the replay could not be done, 2 bad input, 128 + n signal n ended it.\n";
}

}  // namespace robustrun::cli
