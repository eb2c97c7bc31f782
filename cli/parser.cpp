#include "cli/parser.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "cli/argv_compat.h"
#include "cli/values.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;

// CLI11's own --help would end the program's talk; ours is an option like others.
struct Parser : CLI::App {
  Parser() { set_help_flag(); }
};

// CLI11 takes its arguments last one first.
base::Status run_parser(CLI::App& app, std::span<const std::string> argv) {
  try {
    app.parse(std::vector<std::string>(argv.rbegin(), argv.rend()));
  } catch (const CLI::Error& error) {
    return fail(Errc::kInvalidArgument, error.what());
  }
  return {};
}

}  // namespace

Result<RunLine> parse_run_line(std::span<const std::string> argv) {
  SplitArgv split = RR_TRY(split_argv(argv));
  Parser app;
  std::array<CLI::Option*, kOptionCount> parsed{};
  std::string bad;  // CLI11 puts words of its own around what a check says
  for (const Option& row : options()) {
    const std::string name = std::string("--") + row.name;
    CLI::Option*& target = parsed[static_cast<std::size_t>(row.id)];
    if (row.type == Type::kFlag) {
      target = app.add_flag(name);
      continue;
    }
    target = app.add_option(name);
    target->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    target->check([&row, &bad](const std::string& text) {
      const auto error = value_error(row, text);
      if (error) bad = fmt::format("argument {}: {}", display_name(row), *error);
      return error.value_or("");
    });
  }
  if (const auto status = run_parser(app, split.options); !status) {
    return fail(Errc::kInvalidArgument, bad.empty() ? status.error().what : bad);
  }
  RunLine line;
  for (const Option& row : options()) {
    const CLI::Option* given = parsed[static_cast<std::size_t>(row.id)];
    if (given->count() == 0) continue;
    line.values[static_cast<std::size_t>(row.id)] =
        row.type == Type::kFlag ? "1" : given->results().back();
  }
  line.script = std::move(split.script);
  line.arguments = std::move(split.arguments);
  return line;
}

Result<ReportLine> parse_report_line(std::span<const std::string> argv) {
  ReportLine line;
  Parser app;
  app.add_option("run", line.run);
  app.add_flag("--json", line.json);
  app.add_flag("-h,--help", line.help);
  if (auto status = run_parser(app, argv); !status) return std::unexpected(status.error());
  return line;
}

Result<ResumeLine> parse_resume_line(std::span<const std::string> argv) {
  ResumeLine line;
  Parser app;
  app.add_option("run", line.run);
  app.add_flag("--detach", line.detach);
  app.add_flag("-h,--help", line.help);
  if (auto status = run_parser(app, argv); !status) return std::unexpected(status.error());
  return line;
}

Result<InjectLine> parse_inject_line(std::span<const std::string> argv) {
  InjectLine line;
  std::vector<std::string> words;
  Parser app;
  app.add_option("words", words)->expected(0, 2);
  const auto add = [&app](const char* name, std::optional<std::string>& value) {
    app.add_option(name, value);
  };
  add("--rank", line.rank);
  add("--node", line.node);
  add("--for", line.duration);
  add("--delay", line.delay);
  add("--after", line.after);
  add("--every", line.every);
  add("--seed", line.seed);
  app.add_flag("-h,--help", line.help);
  if (auto status = run_parser(app, argv); !status) return std::unexpected(status.error());
  if (line.help) return line;
  if (words.empty()) {
    return fail(Errc::kInvalidArgument, "the following arguments are required: KIND");
  }
  line.kind = words.back();
  if (words.size() > 1) line.run = words.front();
  return line;
}

Result<StatusLine> parse_status_line(std::span<const std::string> argv) {
  StatusLine line;
  Parser app;
  app.add_option("run", line.run);
  app.add_flag("--json", line.json);
  app.add_flag("--watch", line.watch);
  app.add_flag("-h,--help", line.help);
  if (auto status = run_parser(app, argv); !status) return std::unexpected(status.error());
  return line;
}

Result<StopLine> parse_stop_line(std::span<const std::string> argv) {
  StopLine line;
  Parser app;
  app.add_option("run", line.run);
  app.add_option("--signal", line.signal);
  app.add_option("--grace", line.grace);
  app.add_flag("--no-wait", line.no_wait);
  app.add_flag("-h,--help", line.help);
  if (auto status = run_parser(app, argv); !status) return std::unexpected(status.error());
  return line;
}

Result<AttachLine> parse_attach_line(std::span<const std::string> argv) {
  AttachLine line;
  Parser app;
  app.add_option("run", line.run);
  app.add_option("-n,--lines", line.lines);
  app.add_flag("-h,--help", line.help);
  if (auto status = run_parser(app, argv); !status) return std::unexpected(status.error());
  return line;
}

Result<CkptLine> parse_ckpt_line(std::span<const std::string> argv) {
  CkptLine line;
  Parser app;
  app.add_option("verb", line.verb);
  app.add_option("directories", line.directories)->expected(0, -1);
  app.add_option("--step", line.step)->check(CLI::NonNegativeNumber);  // else -1 is a large one
  app.add_flag("--all", line.all);
  app.add_flag("--json", line.json);
  app.add_flag("-h,--help", line.help);
  if (auto status = run_parser(app, argv); !status) return std::unexpected(status.error());
  if (line.help) return line;
  if (line.verb != "ls" && line.verb != "inspect" && line.verb != "verify") {
    return fail(Errc::kInvalidArgument, "ckpt does one of ls, inspect and verify");
  }
  if (line.directories.empty()) {
    return fail(Errc::kInvalidArgument, "ckpt " + line.verb + " needs a directory of checkpoints");
  }
  return line;
}

Result<DiagnoseLine> parse_diagnose_line(std::span<const std::string> argv) {
  DiagnoseLine line;
  Parser app;
  app.add_option("run", line.run);
  app.add_option("--from", line.from)->expected(1, -1);
  app.add_flag("--json", line.json);
  app.add_flag("-h,--help", line.help);
  if (auto status = run_parser(app, argv); !status) return std::unexpected(status.error());
  if (!line.from.empty() && !line.run.empty()) {
    return fail(Errc::kInvalidArgument, "either a run or files (--from), not both");
  }
  return line;
}

Result<NodesLine> parse_nodes_line(std::span<const std::string> argv) {
  NodesLine line;
  Parser app;
  app.add_option("hosts", line.hosts)->expected(0, -1);
  app.add_option("--node-history", line.node_history);
  app.add_flag("--json", line.json);
  app.add_flag("-h,--help", line.help);
  if (auto status = run_parser(app, argv); !status) return std::unexpected(status.error());
  return line;
}

// What is behind --args is the script's; a number behind --rollback is its own.
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
  Parser app;
  app.add_option("run", line.run);
  app.add_option("--code", line.code);
  app.add_option("--code-root", line.code_root);
  app.add_option("--env", line.environment)->allow_extra_args(false);
  app.add_option("--unset", line.unset)->allow_extra_args(false);
  app.add_option("--within", line.within);
  app.add_flag("--now", line.now);
  app.add_flag("--list", line.list);
  app.add_flag("--json", line.json);
  app.add_flag("-h,--help", line.help);
  if (auto status = run_parser(app, rest); !status) return std::unexpected(status.error());
  return line;
}

Result<HelpLine> parse_help_line(std::span<const std::string> argv) {
  HelpLine line;
  Parser app;
  app.add_flag("--markdown", line.markdown);
  if (auto status = run_parser(app, argv); !status) return std::unexpected(status.error());
  return line;
}

}  // namespace robustrun::cli
