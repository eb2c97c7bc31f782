#pragma once
// Parses command lines to plain data. The only user of CLI11 (in parser.cpp), whose exceptions stay
// in parser.cpp.
//
// Errors are one sentence (kInvalidArgument), to be printed under the usage line.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "cli/options/options_table.h"

namespace robustrun::cli {

// `robustrun [options] SCRIPT [ARGS...]`: the given options, with types and ranges checked.
struct RunLine {
  std::array<std::optional<std::string>, kOptionCount> values;  // by OptionId; a flag: "1"
  std::optional<std::string> script;
  std::vector<std::string> arguments;
  [[nodiscard]] const std::optional<std::string>& value(OptionId id) const {
    return values[static_cast<std::size_t>(id)];
  }
};

// `robustrun report [RUN] [options]`
struct ReportLine {
  std::string run;  // id or directory; empty: the newest
  bool verbose = false;
  bool json = false;
  std::optional<std::string> html;  // file
  std::optional<std::string> trace;  // file
  bool open = false;  // show the page
  bool help = false;
};

// `robustrun resume [RUN] [--detach]`
struct ResumeLine {
  std::string run;
  bool detach = false;
  bool help = false;
};

// `robustrun requeue [RUN]`
struct RequeueLine {
  std::string run;  // id or directory; empty: the run of this Slurm job
  bool help = false;
};

// `robustrun inject [RUN] KIND [options]`; texts as given.
struct InjectLine {
  std::string run;  // id or directory; empty: the newest
  std::string kind;
  std::optional<std::string> rank;
  std::optional<std::string> node;
  std::optional<std::string> duration;  // --for
  std::optional<std::string> delay;
  std::optional<std::string> after;
  std::optional<std::string> every;
  std::optional<std::string> seed;
  bool help = false;
};

// `robustrun status [RUN] [--json] [--watch]`
struct StatusLine {
  std::string run;
  bool json = false;
  bool watch = false;
  bool help = false;
};

// `robustrun top [RUN]`
struct TopLine {
  std::string run;
  bool help = false;
};

// `robustrun stop [RUN] [options]`; texts as given.
struct StopLine {
  std::string run;
  std::optional<std::string> signal;
  std::optional<std::string> grace;
  bool no_wait = false;
  bool help = false;
};

// `robustrun attach [RUN] [--lines N]`
struct AttachLine {
  std::string run;
  std::optional<std::string> lines;
  bool help = false;
};

// `robustrun nodes [HOST...] [options]`
struct NodesLine {
  bool forget = false;  // drop the notes about `hosts`, of which there is at least one
  std::vector<std::string> hosts;  // empty: all
  std::optional<std::string> node_history;
  std::optional<std::string> run;  // the run whose blamed hosts are shown instead of the history
  bool names = false;  // --names: only names, for sbatch --exclude
  bool json = false;
  bool help = false;
};

// `robustrun ckpt VERB DIRECTORY... [--step N] [--all] [--keep N] [--to FORMAT OUT [--rank N]]
// [--json]`
struct CkptLine {
  std::string verb;
  std::vector<std::string> directories;  // at least one
  std::optional<std::uint64_t> step;  // always set for pin and unpin
  std::optional<std::uint64_t> keep;  // for prune: always set, not 0
  std::optional<std::string> form;  // for export: safetensors, dcp or torch
  std::string out;  // for export: the destination
  std::optional<std::uint64_t> rank;  // for export: one rank's own state
  bool all = false;
  bool json = false;
  bool help = false;
};

// `robustrun diagnose [RUN | --from PATH...] [--json]`
struct DiagnoseLine {
  std::string run;
  std::vector<std::string> from;
  std::optional<std::string> html;
  bool json = false;
  bool help = false;
};

// `robustrun update [RUN] [options] [--args ARG...]`; texts as given.
struct UpdateLine {
  std::string run;
  std::optional<std::string> code;
  std::optional<std::string> code_root;
  std::vector<std::string> environment;  // --env
  std::vector<std::string> unset;
  std::optional<std::vector<std::string>> arguments;  // all words after --args
  bool rolls_back = false;
  std::optional<std::string> version;  // of --rollback
  bool now = false;
  std::optional<std::string> within;
  bool list = false;
  bool json = false;
  bool help = false;
};

// `robustrun cache VERB [options]`
struct CacheLine {
  std::string verb;  // ls, gc, verify
  std::optional<std::string> cache_dir;
  std::optional<double> most_gib;  // --max
  std::optional<std::string> unused;  // as given
  bool json = false;
  bool help = false;
};

// `robustrun data plan|prepare|bench FILE [options]`, `robustrun data audit FILE PATH...`
struct DataLine {
  std::string verb;  // plan, prepare, bench, audit
  std::string file;
  std::vector<std::string> checkpoints;  // of audit
  std::optional<std::int64_t> ranks;  // of plan and bench
  std::optional<std::int64_t> steps;  // of plan
  std::optional<std::int64_t> seconds;  // of bench
  bool json = false;  // not of prepare
  std::optional<std::int64_t> processes;  // of prepare
  std::optional<std::string> part;  // of prepare: "I/N"
  bool help = false;
};

// `robustrun demo`
struct DemoLine {
  bool help = false;
};

// `robustrun doctor [--hosts LIST | --hostfile FILE] [options] [--json]`
struct DoctorLine {
  RunLine run;  // the options that name hosts and reach them (kDoctorOptions), as for a run
  bool is_for_hosts = false;
  bool json = false;
  bool help = false;
};

// `robustrun completion SHELL`
struct CompletionLine {
  std::string shell;  // bash or zsh
  bool help = false;
};

// `robustrun ls [--all] [--json | --ids]`
struct LsLine {
  bool all = false;
  bool ids = false;
  bool json = false;
  bool help = false;
};

// `robustrun logs [RUN] [options]`
struct LogsLine {
  std::string run;
  std::optional<std::uint32_t> rank;
  std::optional<std::uint32_t> attempt;
  bool follow = false;
  bool only_stderr = false;
  std::optional<std::string> grep;
  bool help = false;
};

// `robustrun rm RUN... | --older-than TIME [--dry-run]`: either runs or an age.
struct RmLine {
  std::vector<std::string> runs;
  std::optional<std::string> older_than;
  bool dry_run = false;
  bool help = false;
};

// `robustrun sim [options]`; texts as given (cli/sim/plan.h).
struct SimLine {
  std::optional<std::string> nodes, gpus_per_node, spares;
  std::optional<std::string> preset, failures;
  std::optional<std::string> step_time, start;
  std::optional<std::string> checkpoint_every, checkpoint_save, checkpoint_load;
  std::optional<std::string> residual, days, seeds, seed;
  std::optional<std::string> compare, policy, svg;
  std::vector<std::string> from_journal;
  std::optional<std::string> replay;
  bool json = false;
  bool help = false;
};

// `robustrun help [TOPIC] [--markdown | --man]`
struct HelpLine {
  std::string topic;
  bool markdown = false;
  bool man = false;
  bool help = false;
};

// The options of a run that `robustrun doctor` takes: which hosts, and how to reach them.
inline constexpr std::array kDoctorOptions = {OptionId::kHosts,        OptionId::kHostfile,
                                              OptionId::kSshTransport, OptionId::kSshCommand,
                                              OptionId::kSshFanout,    OptionId::kSshTimeout};

// These functions take `argv` without the names of the program and of the subcommand.
[[nodiscard]] base::Result<RunLine> parse_run_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<ReportLine> parse_report_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<ResumeLine> parse_resume_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<RequeueLine> parse_requeue_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<InjectLine> parse_inject_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<StatusLine> parse_status_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<TopLine> parse_top_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<StopLine> parse_stop_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<AttachLine> parse_attach_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<NodesLine> parse_nodes_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<CkptLine> parse_ckpt_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<CacheLine> parse_cache_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<DiagnoseLine> parse_diagnose_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<UpdateLine> parse_update_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<SimLine> parse_sim_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<DemoLine> parse_demo_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<DoctorLine> parse_doctor_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<CompletionLine> parse_completion_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<LsLine> parse_ls_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<LogsLine> parse_logs_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<DataLine> parse_data_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<RmLine> parse_rm_line(std::span<const std::string> argv);
[[nodiscard]] base::Result<HelpLine> parse_help_line(std::span<const std::string> argv);

}  // namespace robustrun::cli
