#include "cli/manual/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "base/core/text.h"
#include "cli/manual/command_syntax.h"
#include "cli/options/help_pages.h"
#include "cli/options/help_text.h"
#include "cli/options/page_blocks.h"
#include "supervisor/core/types/exit_code.h"
#include "wire/messages/injection.h"

namespace robustrun::cli {
namespace {

constexpr std::string_view kUsageBegin = "usage: ";

constexpr auto kExitRows = std::to_array<std::pair<int, std::string_view>>({
    {supervisor::kExitSuccess, "all workers succeeded"},
    {supervisor::kExitFailure, "a failure without a code of its own"},
    {supervisor::kExitUsage, "bad input; nothing was started"},
    {supervisor::kExitDoNotRequeue, "a worker asks not to be queued again"},
    {supervisor::kExitInfrastructure, "not the script's fault: queue the job again"},
    {supervisor::kExitCrashLoop,
     "the same failure again before any progress, or the third hang in one line"},
    {supervisor::kExitTimeLimit, "the time limit was reached"},
    {supervisor::kExitCannotRun, "the program cannot be run"},
    {supervisor::kExitNotFound, "no such program on the node"},
});

constexpr auto kFileRows = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"./robustrun-runs", "journals and logs of runs, unless --run-dir or --log-dir name a folder"},
    {"~/.local/state/robustrun", "links to all runs, and what runs noted about hosts"},
    {"~/.cache/robustrun", "snapshots, blocks and profiles, unless --cache-dir names a folder"},
});

// Text that roff prints as it is; in ASCII, which every reader of manual pages takes.
std::string roff(std::string_view text) {
  constexpr std::string_view kEllipsis = "…";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with(kEllipsis)) {
      out += "...";
      i += kEllipsis.size() - 1;
      continue;
    }
    const char c = text[i];
    switch (c) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '\'': out += "\\(aq"; break;
      case '`': out += "\\(ga"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      case '.':
        if (out.empty()) out += "\\&";
        out += c;
        break;
      default: out += c;
    }
  }
  return out;
}

std::string roff_paragraph(std::string_view text) { return ".PP\n" + roff(text) + "\n"; }

// A term in bold and its meaning.
std::string roff_item(std::string_view term, std::string_view help) {
  return fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(term), roff(help));
}

std::string roff_lines(const std::vector<std::string_view>& lines) {
  std::string out = ".PP\n.RS 4\n.nf\n";
  for (const std::string_view line : lines) out += roff(line) + "\n";
  return out + ".fi\n.RE\n";
}

std::string roff_heading(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(), [](char c) {
    return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  return ".SH " + roff(upper) + "\n";
}

std::string roff_usage(std::string_view usage) {
  std::vector<std::string_view> lines;
  for (const std::string_view line : base::split(usage, '\n')) {
    lines.push_back(line.substr(std::min(kUsageBegin.size(), line.size())));
  }
  return roff_lines(lines);
}

std::string roff_option(const Option& row) {
  std::string terms;
  for (const std::string& name : option_syntax(row).names) {
    terms += fmt::format("{}\\fB{}\\fR", terms.empty() ? "" : ", ", roff(name));
  }
  if (row.type != Type::kFlag) terms += fmt::format(" \\fI{}\\fR", roff(row.values));
  if (row.torchrun) terms += " *";
  return fmt::format(".TP\n{}\n{}\n", terms, roff(row.help + default_note(row)));
}

std::string roff_options(Group group) {
  std::string out;
  for (const Option& row : options()) {
    if (row.group == group) out += roff_option(row);
  }
  return out;
}

std::string roff_faults() {
  std::string out;
  for (const wire::FaultRow& row : wire::fault_rows()) out += roff_item(row.name, row.help);
  return out;
}

std::string roff_table(std::string_view topic) {
  if (topic == "faults") return roff_faults();
  for (const GroupPage& page : group_pages()) {
    if (page.topic != topic) continue;
    return page.summary.empty() ? roff_options(page.group)
                                : roff_paragraph(fmt::format("(above: {})", title(page.group)));
  }
  RR_ASSERT(false);
  return "";
}

std::string roff_rows(const std::vector<PageRow>& rows) {
  std::string out;
  std::vector<std::string_view> lines;  // rows without a meaning are commands
  for (const PageRow& row : rows) {
    const std::string_view name = base::trim(row.name);
    if (row.help.empty()) {
      lines.push_back(name);
    } else if (name == "-") {
      out += fmt::format(".IP \\(bu 2\n{}\n", roff(row.help));
    } else {
      out += roff_item(name, row.help);
    }
  }
  return lines.empty() ? out : out + roff_lines(lines);
}

std::string roff_part(const PagePart& part) {
  switch (part.kind) {
    case PagePart::Kind::kUsage: return roff_usage(part.text);
    case PagePart::Kind::kProse: return roff_paragraph(part.text);
    case PagePart::Kind::kRows: return roff_rows(part.rows);
    case PagePart::Kind::kTable: return roff_table(part.text);
  }
  return "";
}

std::string roff_command(const CommandPage& page) {
  std::string out = fmt::format(".SS robustrun {}\n", roff(page.name));
  for (const PageBlock& block : page_blocks(page.text)) {
    for (const PagePart& part : block) out += roff_part(part);
  }
  return out;
}

}  // namespace

std::string man_page() {
  std::string out =
      ".\\\" Made by `robustrun help --man` from the tables in cli/options/.\n"
      ".TH ROBUSTRUN 1 \"\" robustrun \"User Commands\"\n";
  out += roff_heading("name") + "robustrun \\- start, watch and restart distributed PyTorch jobs\n";
  out += roff_heading("synopsis") +
         roff_lines({"robustrun [options] SCRIPT [ARGS...]", "robustrun SUBCOMMAND [options]"});
  out += roff_heading("description") + roff(kIntroduction) + "\n" + roff_paragraph(kValues);
  out += roff_heading("options");
  for (const GroupPage& page : group_pages()) {
    if (page.summary.empty()) continue;
    out += fmt::format(".SS {}\n", roff(title(page.group))) + roff_options(page.group);
  }
  out += roff_heading("subcommands") + roff(kShadowed) + "\n";
  for (const CommandPage& page : command_pages()) out += roff_command(page);
  out += roff_heading("exit status") + "Of a run; a subcommand gives its own above.\n";
  for (const auto& [code, meaning] : kExitRows) out += roff_item(std::to_string(code), meaning);
  out += roff_item(fmt::format("{} + n", supervisor::kExitSignalBase),
                   "signal n ended the run, or the worker that failed first");
  out += roff_heading("files");
  for (const auto& [path, meaning] : kFileRows) out += roff_item(path, meaning);
  out += roff_heading("see also") + "ssh(1), sbatch(1), srun(1)\n";
  return out;
}

}  // namespace robustrun::cli
