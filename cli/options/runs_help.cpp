// The help of demo, ls, logs and rm.

#include "cli/options/help_text.h"

namespace robustrun::cli {

std::string demo_help() {
  return "usage: robustrun demo\n\n"
         "Trains a small network on two ranks of this machine, on processors, with the torch of\n"
         "your Python. Halfway rank 1 is killed with SIGKILL; the run recovers from its last\n"
         "checkpoint, ends, and shows its report. Takes about 20 s and needs no GPU.\n\n"
         "Exit codes: 0 it recovered, 2 there is no Python with torch, else as of a run.\n";
}

std::string ls_help() {
  return "usage: robustrun ls [--all] [--json]\n\n"
         "Lists your runs, the newest first, wherever they were started: state, nodes × workers,\n"
         "age, step, incidents, and size on disk.\n\n"
         "  -a, --all  all of them, not only the newest 20\n"
         "  --json     one JSON object\n\n"
         "Commands that take a RUN take an id of this list, a run directory, or `latest`.\n\n"
         "Example: robustrun report latest\n";
}

std::string logs_help() {
  return "usage: robustrun logs [RUN] [--rank N] [--attempt N] [--follow] [--stderr] [--grep "
         "RE]\n\n"
         "Shows what the workers wrote, rank by rank, stdout before stderr. Without RUN: the\n"
         "newest active run of this folder, or else the newest run.\n\n"
         "  --rank N      of this rank alone\n"
         "  --attempt N   of this start of the workers, from 0 on; without it the last one\n"
         "  -f, --follow  show new lines too, across restarts, until the run ends or Ctrl-C\n"
         "  --stderr      stderr alone\n"
         "  --grep RE     only lines that match, as `grep -E` has it\n\n"
         "Example: robustrun logs latest --rank 3 --grep 'loss|error'\n\n"
         "Exit codes: 0 shown, 2 bad input, no such run, or it keeps no logs.\n";
}

std::string rm_help() {
  return "usage: robustrun rm RUN... [--dry-run]\n"
         "       robustrun rm --older-than TIME [--dry-run]\n\n"
         "Removes the directories of runs that have ended, with journal and logs, and prints\n"
         "them. An active run, or one whose supervisor died, always stays. Logs that --log-dir\n"
         "put elsewhere stay, too.\n\n"
         "  --older-than TIME  all that ended longer ago than this: 14d, 12h\n"
         "  -n, --dry-run      print what would be removed\n\n"
         "Example: robustrun rm --older-than 14d --dry-run\n\n"
         "Exit codes: 0 removed, 1 some runs stay, with the reason, 2 bad input or no such run.\n";
}

}  // namespace robustrun::cli
