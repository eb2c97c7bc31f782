#include "cli/options/help_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/core/text.h"
#include "cli/options/limits.h"
#include "cli/options/options_table.h"

namespace robustrun::cli {
namespace {

constexpr std::size_t kNameColumns = 28;
constexpr std::array<Group, kGroupCount> kGroups = {
    Group::kWhat, Group::kRendezvous, Group::kPlacement, Group::kFailures, Group::kOutput,
    Group::kSelf, Group::kCheck,      Group::kSubmit,    Group::kPlan,     Group::kReplay};

constexpr std::string_view kIntroduction =
    "Starts the workers of a distributed PyTorch job, on this machine or on many, starts them "
    "again "
    "after a failure, and says what happened. A drop-in for torchrun: same options, same "
    "environment.";

constexpr std::string_view kSubcommands = R"(
Subcommands (a script of the same name in this directory wins):
  report [RUN] [--json]     What happened in a run: its id or directory, or the
                            newest.
  check [options]           Only checks the nodes that these options name, and
                            prints a table; 94: a node is unfit. --gpu tests
                            the GPUs, too.
  plan [options]            Shows which node would get which ranks, and why;
                            starts nothing. --json, --svg FILE, --explain NODE.
  submit --nodes N SCRIPT   Queues the run as a job of Slurm; --dry-run prints
                            the batch script.
  resume [RUN] [--detach]   Supervises a run whose supervisor is gone.
  inject [RUN] KIND         A fault on purpose in a running job, for drills;
                            inject --help lists them.
  demo                      A small training that loses a rank and recovers.
  ls                        Your runs, the newest first. --all, --json.
  logs [RUN]                What the workers wrote: --rank, --attempt, --follow,
                            --stderr, --grep.
  rm RUN...                 Removes runs that ended; or --older-than TIME.
  status [RUN]              How a run stands: state, nodes and ranks, steps,
                            restarts. --json, --watch.
  attach [RUN]              The console of a running job, until Ctrl-C;
                            --lines N begins with the last N.
  stop [RUN]                Ends a run, as SIGTERM to its supervisor does.
                            --signal NAME, --grace TIME, --no-wait.
  update [RUN]              Other code, variables or arguments for a run that
                            goes on: --code, --env, --unset, --args, --now;
                            --rollback, --list.
  ckpt VERB DIRECTORY...    Checkpoints in directories: ls, inspect, verify,
                            which reads all of one, repair, prune, pin, unpin,
                            export to safetensors, DCP, torch. --step, --json.
  cache VERB                What is kept for faster starts: ls, verify, gc.
                            --max GIB, --unused TIME, --json.
  diagnose [RUN]            Whom the workers of a run wait for, now; or with
                            --from PATH... whom a hung job waits for, by dumps
                            of PyTorch's Flight Recorder, reports of NCCL's RAS
                            or progress records that it left. --json.
  nodes [HOST...]           Which hosts failed earlier runs, and how. --json,
                            --node-history DIR.
  policy [--policy FILE]    What is done about which fault, in words.
  replay [options] [SCRIPT] Which machine makes a job go wrong: the alignment
                            test, or SCRIPT, on groups of hosts, in two phases.
  sim [options]             What a job's ETTR would be on a cluster, under this
                            policy and others; how many spares and checkpoints
                            are worth having. --preset, --json, --svg FILE.
  help [--markdown]         This help; --markdown: as in docs/cli.md.
  version                   The version.
)";

constexpr std::string_view kSubmission =
    "Queues the run as a job of Slurm and prints the job's number. All options of a run are "
    "options here; each start of the job is a run of its own below ./robustrun-runs, called "
    "slurm-JOB. A supervisor that dies is replaced, Slurm's warnings become SIGTERM for the "
    "workers, and a job that ended for no fault of its script is queued again. --dry-run prints "
    "the batch script, which may be changed and given to sbatch.";

constexpr std::string_view kPlanning =
    "Shows which of the named hosts a run with the same options would use, and which ranks each "
    "would get, with what that is worth against natural and lexicographic order and against the "
    "least that is possible. Nothing is started and no host is contacted; within a Slurm "
    "allocation Slurm is asked for its topology. All options of a run are options here.";

constexpr std::string_view kValues =
    "Values come from the command line, then the environment (PET_<NAME> for torchrun's options, "
    "marked *, and ROBUSTRUN_<NAME> for the others), then the file of --config (the key is the "
    "option's name with underscores), then the default. --print-config shows what came from where. "
    "Options of torchrun may be written with underscores and abbreviated. Times are seconds, or "
    "200ms, 90s, 15m, 2h.";

// "  -r, --redirects 0-3|RANK:0-3,..."
std::string left_column(const Option& row) {
  std::string text = row.short_name != '\0' ? fmt::format("  -{}, ", row.short_name) : "      ";
  text += fmt::format("--{}", row.name);
  if (row.type != Type::kFlag) text += fmt::format(" {}", row.values);
  return text;
}

std::string default_note(const Option& row) {
  const bool shown = row.native != nullptr && *row.native != '\0';
  if (!shown && row.compat == nullptr) return "";
  if (row.compat == nullptr) return fmt::format(" [{}]", row.native);
  return fmt::format(" [{}; as torchrun: {}]", shown ? row.native : "none", row.compat);
}

// `text` in lines of at most `columns`, all but the first behind `indent` blanks.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string out;
  std::size_t used = 0;
  for (const std::string_view word : base::split(text, ' ')) {
    if (used > 0 && indent + used + 1 + word.size() > columns) {
      out += "\n" + std::string(indent, ' ');
      used = 0;
    }
    if (used > 0) {
      out += ' ';
      ++used;
    }
    out += word;
    used += word.size();
  }
  return out;
}

void append_row(const Option& row, std::size_t columns, std::string& out) {
  std::string left = left_column(row);
  if (row.torchrun) left += " *";
  if (left.size() + 2 > kNameColumns)
    left += "\n" + std::string(kNameColumns, ' ');
  else
    left.resize(kNameColumns, ' ');
  out += left + wrapped(row.help + default_note(row), columns, kNameColumns) + "\n";
}

// A cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_names(const Option& row) {
  std::string names;
  if (row.short_name != '\0') names += fmt::format("`-{}` ", row.short_name);
  names += fmt::format("`--{}", row.name);
  if (row.type != Type::kFlag) names += fmt::format(" {}", row.values);
  names += '`';
  if (row.alias != nullptr) names += fmt::format(" `--{}`", row.alias);
  return names;
}

std::string markdown_default(const Option& row) {
  const auto shown = [](const char* text) {
    return text == nullptr || *text == '\0' ? std::string("–") : fmt::format("`{}`", text);
  };
  if (row.compat == nullptr) return shown(row.native);
  return fmt::format("{} (torchrun: {})", shown(row.native), shown(row.compat));
}

std::string markdown_row(const Option& row) {
  std::string variable = variable_name(row);
  if (row.fallback != nullptr) variable += fmt::format("`, `{}", row.fallback);
  return fmt::format("| {}{} | {} | {} | {} | {} |\n", cell(markdown_names(row)),
                     row.torchrun ? " \\*" : "", cell(markdown_default(row)),
                     variable.empty() ? "–" : fmt::format("`{}`", variable),
                     row.file ? fmt::format("`{}`", underscored(row.name)) : "–", cell(row.help));
}

}  // namespace

std::string usage_line(std::string_view program_name) {
  return fmt::format("usage: {} [options] SCRIPT [ARGS...]", program_name);
}

std::string help_text(std::string_view program_name, int columns) {
  const auto width =
      static_cast<std::size_t>(std::clamp(columns, kHelpColumnsMin, kHelpColumnsMax));
  std::string out = usage_line(program_name) + "\n\n" + wrapped(kIntroduction, width, 0) + "\n";
  for (const Group group : kGroups) {
    out += fmt::format("\n{}:\n", title(group));
    for (const Option& row : options()) {
      if (row.group == group) append_row(row, width, out);
    }
  }
  out += kSubcommands;
  out += "\n" + wrapped(kValues, width, 0) + "\n";
  return out;
}

std::string help_markdown() {
  std::string out =
      "# Command line\n\nMade by `robustrun help --markdown` from the table that the parser uses "
      "(cli/options/options_table.cpp); a test compares.\n\n    " +
      usage_line("robustrun") + "\n\n" + std::string(kIntroduction) + "\n";
  for (const Group group : kGroups) {
    out += fmt::format(
        "\n## {}\n\n| Option | Default | Variable | TOML key | Meaning |\n"
        "|---|---|---|---|---|\n",
        title(group));
    for (const Option& row : options()) {
      if (row.group == group) out += markdown_row(row);
    }
  }
  out += "\n\\* An option of torchrun's.\n\n## Subcommands\n\n```";
  out += kSubcommands;
  out += "```\n\n## Where values come from\n\n";
  out += kValues;
  out +=
      "\n\nEverything after SCRIPT is the script's own. `--` before it ends the options. In a "
      "file, "
      "`script` and `args` may name the script and its arguments; a script on the command line "
      "replaces both. A flag's variable is an integer: `PET_STANDALONE=1`.\n\n"
      "Exit codes: [operations.md](operations.md). What is the same as with torchrun and what is "
      "not: [compat.md](compat.md).\n";
  return out;
}

std::string check_help() {
  return "usage: robustrun check [options] [SCRIPT]\n\n"
         "Starts agents on the nodes that the options of a run name, checks the nodes as a run\n"
         "does before its first start (--preflight=full: more thoroughly), prints a table, and\n"
         "ends: with 0 when all are fit, 94 when one is unfit or slow, 2 for bad options. With\n"
         "SCRIPT it is also looked for on each node. --gpu also puts all GPUs to work, for a\n"
         "minute or more, and says which are slow, compute wrongly or lose what they send.\n"
         "robustrun --help lists the options.\n";
}

std::string report_help() {
  return "usage: robustrun report [RUN] [--json]\n\n"
         "Says what happened in a run, from its journal alone; also while it runs, and after its\n"
         "supervisor was killed. RUN is a run's id or directory; without it, the newest below\n"
         "./robustrun-runs. --json prints one JSON object.\n";
}

std::string submit_help(int columns) {
  const auto width =
      static_cast<std::size_t>(std::clamp(columns, kHelpColumnsMin, kHelpColumnsMax));
  std::string out = "usage: robustrun submit --nodes N [options] SCRIPT [ARGS...]\n\n" +
                    wrapped(kSubmission, width, 0) + "\n\n";
  for (const Option& row : options()) {
    if (row.group == Group::kSubmit) append_row(row, width, out);
  }
  append_row(option(OptionId::kDryRun), width, out);
  return out;
}

std::string plan_help(int columns) {
  const auto width =
      static_cast<std::size_t>(std::clamp(columns, kHelpColumnsMin, kHelpColumnsMax));
  std::string out = "usage: robustrun plan [options] [SCRIPT [ARGS...]]\n\n" +
                    wrapped(kPlanning, width, 0) + "\n\n";
  for (const Group group : {Group::kPlan, Group::kPlacement}) {
    for (const Option& row : options()) {
      if (row.group == group) append_row(row, width, out);
    }
  }
  return out;
}

std::string resume_help() {
  return "usage: robustrun resume [RUN] [--detach]\n\n"
         "Supervises a run whose supervisor is gone (killed, upgraded, its machine rebooted), "
         "from\n"
         "this host or another one that sees the run's directory. Workers on several machines go\n"
         "on untouched if that happens within --orphan-grace; what ran beside the supervisor in\n"
         "one machine's run ended with it and is started again. RUN is a run's id or directory;\n"
         "without it, the newest below ./robustrun-runs. Ends with the run's exit code.\n\n"
         "  --detach   return once the run is in hand, as with a run's --detach\n";
}

}  // namespace robustrun::cli
