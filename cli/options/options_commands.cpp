// Options of one subcommand alone, and what every one has, in the order of OptionId.

#include <array>

#include "cli/options/options_rows.h"

namespace robustrun::cli {
namespace {

using enum OptionId;
using enum Type;
using enum Group;

// clang-format off
constexpr auto kCommandsRows = std::to_array<Option>({
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
  {.id = kUnit, .name = "unit", .type = kInteger, .values = "N", .group = kReplay,
   .variable = false, .file = false, .min = 1, .max = kRankMax,
   .help = "Machines that one copy of the model takes: groups hold a multiple of it."},
  {.id = kHelp, .name = "help", .short_name = 'h', .type = kFlag, .group = kSelf, .torchrun = true,
   .variable = false, .file = false, .help = "Show this help and exit."},
  {.id = kVersion, .name = "version", .type = kFlag, .group = kSelf, .variable = false,
   .file = false, .help = "Show the version and exit."},
});
// clang-format on
static_assert(times_have_a_least_value(kCommandsRows));

}  // namespace

std::span<const Option> commands_rows() { return kCommandsRows; }

}  // namespace robustrun::cli
