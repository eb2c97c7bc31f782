// The help of sim.

#include "cli/options/help_text.h"

namespace robustrun::cli {

std::string sim_help() {
  return "usage: robustrun sim [--nodes N] [--preset NAME | --failures FILE] [options]\n"
         "       robustrun sim --from-journal RUN... [options]\n"
         "       robustrun sim --replay RUN [--from-journal RUN...] [--json]\n\n"
         "What would a job's ETTR be on such a cluster: the share of its time that goes into\n"
         "steps that are kept? robustrun's own core decides about simulated failures in virtual\n"
         "time, beside policies of others with their published times. docs/sim.md explains what\n"
         "is shown, and what of it is measured, published or assumed.\n\n"
         "  --nodes N               machines that train [128]\n"
         "  --gpus-per-node N       [8]\n"
         "  --spares N              machines beside them; auto: as many as are worth having "
         "[auto]\n"
         "  --preset NAME           whose failures: rsc-1, rsc-2, llama3, byterobust-dense,\n"
         "                          byterobust-moe or ft-hsdp [llama3]\n"
         "  --failures FILE         your own, in TOML\n"
         "  --from-journal RUN...   your own runs: journals, directories of runs, or folders of\n"
         "                          them; their failures and times take the place of what is\n"
         "                          not given here\n"
         "  --replay RUN            play the failures of this run again, with the times of\n"
         "                          --from-journal, and show both ETTRs\n"
         "  --step-time TIME        of a training step [6s]\n"
         "  --start TIME            the script's start, until it could train [1m]\n"
         "  --checkpoint-every TIME between two checkpoints; step: after each step [10m]\n"
         "  --checkpoint-save TIME  that training stands still for one [5s]\n"
         "  --checkpoint-load TIME  [30s]\n"
         "  --residual TIME         lost per incident that no model explains, of every policy "
         "[15m]\n"
         "  --days N                of the job [54]\n"
         "  --seeds N               runs, each with failures of its own [20]\n"
         "  --seed N                the first of them; the same seeds give the same result [1]\n"
         "  --compare LIST          torchrun, torchrun-slow, byterobust, byterobust-all-in, or "
         "none\n"
         "                          [torchrun,byterobust]\n"
         "  --policy FILE           changes of the policy, as for a run\n"
         "  --json                  one JSON object\n"
         "  --svg FILE              write a picture of where the time goes\n\n"
         "Exit codes: 0 shown, 2 bad input.\n";
}

}  // namespace robustrun::cli
