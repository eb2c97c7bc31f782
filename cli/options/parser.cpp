#include "cli/options/parser.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>

#include "base/core/text.h"
#include "cli/options/argv_compat.h"
#include "cli/options/limits.h"
#include "cli/options/values.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;

// CLI11's own --help throws; ours is an option like the others.
struct Parser : CLI::App {
  Parser() { set_help_flag(); }
};

// In argparse's words, with a suggestion for the first unknown option.
std::string unrecognized(const CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  std::string hint;
  for (const std::string& word : words) {
    if (hint.empty() && word.starts_with('-')) {
      hint = did_you_mean(word.substr(0, word.find('=')), names);
    }
  }
  return fmt::format("unrecognized arguments: {}{}", base::join(words, " "), hint);
}

base::Status run_parser(CLI::App& app, std::span<const std::string> argv) {
  try {
    // CLI11 takes its arguments last one first.
    app.parse(std::vector<std::string>(argv.rbegin(), argv.rend()));
  } catch (const CLI::ExtrasError&) {
    return fail(Errc::kInvalidArgument, unrecognized(app, app.remaining()));
  } catch (const CLI::Error& error) {
    return fail(Errc::kInvalidArgument, error.what());
  }
  return {};
}

// CLI11 would read -1 as a large number, and its own error names a bound of 300 digits.
CLI::Validator at_least(std::uint64_t least) {
  return CLI::Validator(
      [least](const std::string& text) {
        const auto number = base::parse_int<std::uint64_t>(text);
        if (number && *number >= least) return std::string();
        return fmt::format("'{}' is not a number of at least {}", base::printable(text), least);
      },
      "NUMBER");
}

std::string invalid_choice(const std::string& word, const std::vector<std::string>& choices) {
  if (word.empty()) return fmt::format("expected one of {}", base::join(choices, ", "));
  return fmt::format("invalid choice: '{}'{} (choose from {})", base::printable(word),
                     did_you_mean(word, choices), base::join(choices, ", "));
}

// Parses the line of a subcommand. `describe` declares its options and words to CLI11; --help is
// added to all.
template <class Line, class Describe>
Result<Line> parse_own_line(std::span<const std::string> argv, Describe describe, Line line = {}) {
  Parser app;
  describe(app, line);
  app.add_flag("-h,--help", line.help);
  if (auto status = run_parser(app, argv); !status) return std::unexpected(status.error());
  return line;
}

// Options of a run, by rows of the options table.
class RowParser {
 public:
  void add(CLI::App& app, const Option& row) {
    const std::string name = std::string("--") + row.name;
    CLI::Option*& target = parsed_[static_cast<std::size_t>(row.id)];
    if (row.type == Type::kFlag) {
      target = app.add_flag(name);
      return;
    }
    target = app.add_option(name);
    target->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    target->check([this, &row](const std::string& text) {
      const auto error = value_error(row, text);
      if (error) bad_ = fmt::format("argument {}: {}", display_name(row), *error);
      return error.value_or("");
    });
  }

  base::Status run(CLI::App& app, std::span<const std::string> argv) {
    const auto status = run_parser(app, argv);
    if (status || bad_.empty()) return status;
    return fail(Errc::kInvalidArgument, bad_);
  }

  // The values of the options that were given.
  [[nodiscard]] RunLine take() const {
    RunLine line;
    for (const Option& row : options()) {
      const CLI::Option* given = parsed_[static_cast<std::size_t>(row.id)];
      if (given == nullptr || given->count() == 0) continue;
      line.values[static_cast<std::size_t>(row.id)] =
          row.type == Type::kFlag ? "1" : given->results().back();
    }
    return line;
  }

 private:
  std::array<CLI::Option*, kOptionCount> parsed_{};
  std::string bad_;  // the error of a check, without the words that CLI11 adds
};

// "2/8"
bool is_part(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const auto number = base::parse_int<std::uint32_t>(text.substr(0, slash));
  const auto count = base::parse_int<std::uint32_t>(text.substr(slash + 1));
  return number && count && *number >= 1 && *number <= *count;
}

}  // namespace

Result<RunLine> parse_run_line(std::span<const std::string> argv) {
  SplitArgv split = RR_TRY(split_argv(argv));
  Parser app;
  RowParser rows;
  for (const Option& row : options()) rows.add(app, row);
  if (const auto status = rows.run(app, split.options); !status) {
    return std::unexpected(status.error());
  }
  RunLine line = rows.take();
  line.script = std::move(split.script);
  line.arguments = std::move(split.arguments);
  return line;
}

Result<ReportLine> parse_report_line(std::span<const std::string> argv) {
  return parse_own_line<ReportLine>(argv, [](CLI::App& app, ReportLine& line) {
    app.add_option("run", line.run);
    app.add_flag("-v,--verbose", line.verbose);
    app.add_flag("--json", line.json);
    app.add_option("--html", line.html);
    app.add_option("--trace", line.trace);
    app.add_flag("--open", line.open);
  });
}

Result<ResumeLine> parse_resume_line(std::span<const std::string> argv) {
  return parse_own_line<ResumeLine>(argv, [](CLI::App& app, ResumeLine& line) {
    app.add_option("run", line.run);
    app.add_flag("--detach", line.detach);
  });
}

Result<RequeueLine> parse_requeue_line(std::span<const std::string> argv) {
  return parse_own_line<RequeueLine>(
      argv, [](CLI::App& app, RequeueLine& line) { app.add_option("run", line.run); });
}

Result<InjectLine> parse_inject_line(std::span<const std::string> argv) {
  std::vector<std::string> words;
  InjectLine line = RR_TRY(parse_own_line<InjectLine>(argv, [&](CLI::App& app, InjectLine& own) {
    app.add_option("words", words)->expected(0, 2);
    app.add_option("--rank", own.rank);
    app.add_option("--node", own.node);
    app.add_option("--for", own.duration);
    app.add_option("--delay", own.delay);
    app.add_option("--after", own.after);
    app.add_option("--every", own.every);
    app.add_option("--seed", own.seed);
  }));
  if (line.help) return line;
  if (words.empty()) {
    return fail(Errc::kInvalidArgument, "the following arguments are required: KIND");
  }
  line.kind = words.back();
  if (words.size() > 1) line.run = words.front();
  return line;
}

Result<StatusLine> parse_status_line(std::span<const std::string> argv) {
  return parse_own_line<StatusLine>(argv, [](CLI::App& app, StatusLine& line) {
    app.add_option("run", line.run);
    app.add_flag("--json", line.json);
    app.add_flag("--watch", line.watch);
  });
}

Result<TopLine> parse_top_line(std::span<const std::string> argv) {
  return parse_own_line<TopLine>(
      argv, [](CLI::App& app, TopLine& line) { app.add_option("run", line.run); });
}

Result<StopLine> parse_stop_line(std::span<const std::string> argv) {
  return parse_own_line<StopLine>(argv, [](CLI::App& app, StopLine& line) {
    app.add_option("run", line.run);
    app.add_option("--signal", line.signal);
    app.add_option("--grace", line.grace);
    app.add_flag("--no-wait", line.no_wait);
  });
}

Result<AttachLine> parse_attach_line(std::span<const std::string> argv) {
  return parse_own_line<AttachLine>(argv, [](CLI::App& app, AttachLine& line) {
    app.add_option("run", line.run);
    app.add_option("-n,--lines", line.lines);
  });
}

base::Status check_ckpt_line(const CkptLine& line) {
  const std::vector<std::string> verbs = {"ls",    "inspect", "verify", "repair",
                                          "prune", "pin",     "unpin",  "export"};
  const std::vector<std::string> forms = {"safetensors", "dcp", "torch"};
  const auto refuse = [](const std::string& why) { return fail(Errc::kInvalidArgument, why); };
  if (std::ranges::find(verbs, line.verb) == verbs.end()) {
    return refuse(fmt::format("argument VERB: {}", invalid_choice(line.verb, verbs)));
  }
  if (line.directories.empty()) {
    return refuse("ckpt " + line.verb + " needs a directory of checkpoints");
  }
  if (line.keep.has_value() != (line.verb == "prune")) {
    return refuse(line.keep ? "--keep is for ckpt prune"
                            : "ckpt prune needs --keep N, the number of checkpoints to keep");
  }
  if (!line.step && line.verb.ends_with("pin")) {
    return refuse("ckpt " + line.verb + " needs --step N; robustrun ckpt ls lists the steps");
  }
  if (line.step && line.verb == "prune") {
    return refuse("ckpt prune has no --step: what it removes depends on --keep N");
  }
  if (line.form.has_value() != (line.verb == "export")) {
    return refuse(line.form ? "--to is for ckpt export"
                            : "ckpt export needs --to FORMAT: safetensors, dcp or torch");
  }
  if (line.rank && !line.form) return refuse("--rank is for ckpt export");
  if (line.form && std::ranges::find(forms, *line.form) == forms.end()) {
    return refuse(fmt::format("argument --to: {}", invalid_choice(*line.form, forms)));
  }
  if (line.form && line.out.empty()) {
    return refuse("ckpt export needs a directory of checkpoints and, last, the place to write to");
  }
  return {};
}

Result<CkptLine> parse_ckpt_line(std::span<const std::string> argv) {
  CkptLine line = RR_TRY(parse_own_line<CkptLine>(argv, [](CLI::App& app, CkptLine& own) {
    app.add_option("verb", own.verb);
    app.add_option("directories", own.directories)->expected(0, -1);
    app.add_option("--step", own.step)->check(at_least(0));
    app.add_option("--keep", own.keep)->check(at_least(1));
    app.add_option("--to", own.form);
    app.add_option("--rank", own.rank)->check(at_least(0));
    app.add_flag("--all", own.all);
    app.add_flag("--json", own.json);
  }));
  if (line.help) return line;
  if (line.verb == "export" && line.directories.size() > 1) {
    line.out = line.directories.back();
    line.directories.pop_back();
  }
  if (auto status = check_ckpt_line(line); !status) return std::unexpected(status.error());
  return line;
}

Result<CacheLine> parse_cache_line(std::span<const std::string> argv) {
  CacheLine line = RR_TRY(parse_own_line<CacheLine>(argv, [](CLI::App& app, CacheLine& own) {
    app.add_option("verb", own.verb);
    app.add_option("--cache-dir", own.cache_dir);
    app.add_option("--max", own.most_gib)->check(CLI::NonNegativeNumber);
    app.add_option("--unused", own.unused);
    app.add_flag("--json", own.json);
  }));
  if (line.help) return line;
  if (line.verb != "ls" && line.verb != "gc" && line.verb != "verify") {
    return fail(Errc::kInvalidArgument,
                "argument VERB: " + invalid_choice(line.verb, {"ls", "verify", "gc"}));
  }
  if (line.verb != "gc" && (line.most_gib || line.unused)) {
    return fail(Errc::kInvalidArgument, "--max and --unused are for cache gc");
  }
  return line;
}

Result<DataLine> parse_data_line(std::span<const std::string> argv) {
  DataLine line = RR_TRY(parse_own_line<DataLine>(argv, [](CLI::App& app, DataLine& own) {
    app.add_option("verb", own.verb);
    app.add_option("file", own.file);
    app.add_option("checkpoints", own.checkpoints);
    app.add_option("--ranks", own.ranks)->check(at_least(1));
    app.add_option("--steps", own.steps)->check(at_least(1));
    app.add_flag("--json", own.json);
    app.add_option("--processes", own.processes)->check(at_least(1));
    app.add_option("--part", own.part);
    app.add_option("--seconds", own.seconds)->check(at_least(1));
  }));
  if (line.help) return line;
  const auto is_one_of = [&](std::initializer_list<std::string_view> verbs) {
    return std::ranges::find(verbs, line.verb) != verbs.end();
  };
  if (!is_one_of({"plan", "prepare", "bench", "audit"})) {
    return fail(
        Errc::kInvalidArgument,
        "argument VERB: " + invalid_choice(line.verb, {"plan", "prepare", "bench", "audit"}));
  }
  const bool is_audit = line.verb == "audit";
  if (line.file.empty()) {
    return fail(Errc::kInvalidArgument, fmt::format("data {} needs a FILE", line.verb));
  }
  if (is_audit == line.checkpoints.empty()) {
    return fail(Errc::kInvalidArgument,
                is_audit ? "data audit needs a PATH: a directory of checkpoints, or a file of "
                           "torch.save"
                         : fmt::format("data {} has one FILE, and no {}", line.verb,
                                       line.checkpoints.front()));
  }
  struct Own {
    bool is_given;
    const char* option;
    std::initializer_list<std::string_view> verbs;
    const char* words;
  };
  for (const Own& own : {
           Own{line.ranks.has_value(), "--ranks", {"plan", "bench"}, "data plan and data bench"},
           Own{line.steps.has_value(), "--steps", {"plan"}, "data plan"},
           Own{line.seconds.has_value(), "--seconds", {"bench"}, "data bench"},
           Own{line.json, "--json", {"plan", "bench", "audit"}, "data plan, bench and audit"},
           Own{line.processes.has_value(), "--processes", {"prepare"}, "data prepare"},
           Own{line.part.has_value(), "--part", {"prepare"}, "data prepare"},
       }) {
    if (own.is_given && !is_one_of(own.verbs)) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("{} is an option of {}", own.option, own.words));
    }
  }
  if (line.part && !is_part(*line.part)) {
    return fail(Errc::kInvalidArgument,
                fmt::format("argument --part: '{}' is not of the form I/N, with I from 1 to N",
                            *line.part));
  }
  if (line.processes.value_or(1) > kRankMax) {
    return fail(Errc::kInvalidArgument, fmt::format("--processes is at most {}", kRankMax));
  }
  if (line.ranks.value_or(1) > kRankMax || line.steps.value_or(1) > kDataStepsMax ||
      line.seconds.value_or(1) > kDataSecondsMax) {
    return fail(Errc::kInvalidArgument,
                fmt::format("--ranks is at most {}, --steps at most {}, --seconds at most {}",
                            kRankMax, kDataStepsMax, kDataSecondsMax));
  }
  return line;
}

Result<DiagnoseLine> parse_diagnose_line(std::span<const std::string> argv) {
  DiagnoseLine line =
      RR_TRY(parse_own_line<DiagnoseLine>(argv, [](CLI::App& app, DiagnoseLine& own) {
        app.add_option("run", own.run);
        app.add_option("--from", own.from)->expected(1, -1);
        app.add_option("--html", own.html);
        app.add_flag("--json", own.json);
      }));
  if (!line.from.empty() && !line.run.empty()) {
    return fail(Errc::kInvalidArgument, "argument --from: not allowed with a run");
  }
  if (line.html && line.html->empty()) {
    return fail(Errc::kInvalidArgument, "argument --html: expected a file's name");
  }
  return line;
}

Result<NodesLine> parse_nodes_line(std::span<const std::string> argv) {
  auto line = RR_TRY(parse_own_line<NodesLine>(argv, [](CLI::App& app, NodesLine& own) {
    app.add_option("hosts", own.hosts)->expected(0, -1);
    app.add_option("--node-history", own.node_history);
    app.add_option("--run", own.run);
    app.add_flag("--names", own.names);
    app.add_flag("--json", own.json);
  }));
  if (!line.hosts.empty() && line.hosts.front() == "forget") {
    line.forget = true;
    line.hosts.erase(line.hosts.begin());
    if (line.hosts.empty()) return fail(Errc::kInvalidArgument, "forget: name at least one host");
    if (line.json) return fail(Errc::kInvalidArgument, "argument --json: not with forget");
    if (line.run || line.names) {
      return fail(Errc::kInvalidArgument, "arguments --run and --names: not with forget");
    }
  }
  if (line.names && line.json) {
    return fail(Errc::kInvalidArgument, "argument --names: not with --json");
  }
  return line;
}

// All words after --args belong to the script. --rollback takes the next word only if it is a
// number; otherwise that word is the run.
Result<UpdateLine> parse_update_line(std::span<const std::string> argv) {
  UpdateLine line;
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < argv.size(); ++i) {
    if (argv[i] == "--args") {
      line.arguments.emplace(argv.begin() + static_cast<std::ptrdiff_t>(i) + 1, argv.end());
      break;
    }
    if (argv[i] != "--rollback") {
      rest.push_back(argv[i]);
      continue;
    }
    line.rolls_back = true;
    if (i + 1 < argv.size() && parse_integer(argv[i + 1])) line.version = argv[++i];
  }
  const auto describe = [](CLI::App& app, UpdateLine& own) {
    app.add_option("run", own.run);
    app.add_option("--code", own.code);
    app.add_option("--code-root", own.code_root);
    app.add_option("--env", own.environment)->allow_extra_args(false);
    app.add_option("--unset", own.unset)->allow_extra_args(false);
    app.add_option("--within", own.within);
    app.add_flag("--now", own.now);
    app.add_flag("--list", own.list);
    app.add_flag("--json", own.json);
  };
  return parse_own_line<UpdateLine>(rest, describe, std::move(line));
}

Result<SimLine> parse_sim_line(std::span<const std::string> argv) {
  return parse_own_line<SimLine>(argv, [](CLI::App& app, SimLine& line) {
    const std::pair<const char*, std::optional<std::string>*> texts[] = {
        {"--nodes", &line.nodes},
        {"--gpus-per-node", &line.gpus_per_node},
        {"--spares", &line.spares},
        {"--preset", &line.preset},
        {"--failures", &line.failures},
        {"--step-time", &line.step_time},
        {"--start", &line.start},
        {"--checkpoint-every", &line.checkpoint_every},
        {"--checkpoint-save", &line.checkpoint_save},
        {"--checkpoint-load", &line.checkpoint_load},
        {"--residual", &line.residual},
        {"--days", &line.days},
        {"--seeds", &line.seeds},
        {"--seed", &line.seed},
        {"--compare", &line.compare},
        {"--policy", &line.policy},
        {"--replay", &line.replay},
        {"--svg", &line.svg}};
    for (const auto& [name, value] : texts) {
      app.add_option(name, *value)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
    app.add_option("--from-journal", line.from_journal)->expected(1, -1);
    app.add_flag("--json", line.json);
  });
}

Result<DemoLine> parse_demo_line(std::span<const std::string> argv) {
  return parse_own_line<DemoLine>(argv, [](CLI::App&, DemoLine&) {});
}

Result<DoctorLine> parse_doctor_line(std::span<const std::string> argv) {
  Parser app;
  DoctorLine line;
  RowParser rows;
  for (const Option& row : options()) {
    if (std::ranges::find(kDoctorOptions, row.id) != kDoctorOptions.end()) rows.add(app, row);
  }
  app.add_flag("--json", line.json);
  app.add_flag("-h,--help", line.help);
  if (auto status = rows.run(app, argv); !status) return std::unexpected(status.error());
  line.run = rows.take();
  line.is_for_hosts = line.run.value(OptionId::kHosts) || line.run.value(OptionId::kHostfile);
  for (const OptionId id : kDoctorOptions) {
    if (line.is_for_hosts || !line.run.value(id)) continue;
    return fail(Errc::kInvalidArgument,
                fmt::format("argument --{}: needs --hosts or --hostfile", option(id).name));
  }
  return line;
}

Result<CompletionLine> parse_completion_line(std::span<const std::string> argv) {
  CompletionLine line = RR_TRY(parse_own_line<CompletionLine>(
      argv, [](CLI::App& app, CompletionLine& own) { app.add_option("shell", own.shell); }));
  if (line.help || line.shell == "bash" || line.shell == "zsh") return line;
  return fail(Errc::kInvalidArgument,
              line.shell.empty()
                  ? "the following arguments are required: SHELL"
                  : "argument SHELL: " + invalid_choice(line.shell, {"bash", "zsh"}));
}

Result<LsLine> parse_ls_line(std::span<const std::string> argv) {
  LsLine line = RR_TRY(parse_own_line<LsLine>(argv, [](CLI::App& app, LsLine& own) {
    app.add_flag("-a,--all", own.all);
    app.add_flag("--ids", own.ids);
    app.add_flag("--json", own.json);
  }));
  if (!line.ids || !line.json) return line;
  return fail(Errc::kInvalidArgument, "argument --ids: not allowed with argument --json");
}

Result<LogsLine> parse_logs_line(std::span<const std::string> argv) {
  return parse_own_line<LogsLine>(argv, [](CLI::App& app, LogsLine& line) {
    app.add_option("run", line.run);
    app.add_option("--rank", line.rank)->check(at_least(0));
    app.add_option("--attempt", line.attempt)->check(at_least(0));
    app.add_option("--grep", line.grep);
    app.add_flag("-f,--follow", line.follow);
    app.add_flag("--stderr", line.only_stderr);
  });
}

Result<RmLine> parse_rm_line(std::span<const std::string> argv) {
  RmLine line = RR_TRY(parse_own_line<RmLine>(argv, [](CLI::App& app, RmLine& own) {
    app.add_option("runs", own.runs)->expected(0, -1);
    app.add_option("--older-than", own.older_than);
    app.add_flag("-n,--dry-run", own.dry_run);
  }));
  if (line.help || line.runs.empty() == line.older_than.has_value()) return line;
  return fail(Errc::kInvalidArgument, line.runs.empty() ? "rm needs a RUN, or --older-than TIME"
                                                        : "either runs or --older-than, not both");
}

Result<HelpLine> parse_help_line(std::span<const std::string> argv) {
  return parse_own_line<HelpLine>(argv, [](CLI::App& app, HelpLine& line) {
    app.add_option("topic", line.topic);
    app.add_flag("--markdown", line.markdown);
    app.add_flag("--man", line.man);
  });
}

}  // namespace robustrun::cli
