#include "cli/options/help_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/core/result.h"
#include "base/core/text.h"
#include "base/core/wrap.h"
#include "cli/options/help_pages.h"
#include "cli/options/limits.h"
#include "cli/options/options_table.h"
#include "cli/options/page_blocks.h"
#include "wire/messages/injection.h"

namespace robustrun::cli {
namespace {

constexpr std::size_t kNameColumns = 28;
constexpr int kMarkdownColumns = 80;

constexpr std::string_view kUsedMost = R"(Options used most:
  --nproc-per-node N  workers per node: a number, gpu, cpu or auto [1]
  --nnodes N|MIN:MAX  number of nodes, or the least and the most [1]
  --hosts LIST        run on these machines over SSH: node[01-16]
  --max-restarts N    restarts after failures [3]
  --detach            return once all workers run
  --dry-run           print what would be started where, and exit)";

constexpr std::string_view kFirstExamples = R"(Examples:
  robustrun --nproc-per-node=8 train.py --lr 0.1
  robustrun --hosts=node[01-16] --nproc-per-node=gpu train.py)";

constexpr std::string_view kValuesExample = "PET_NPROC_PER_NODE=8 robustrun train.py";
constexpr std::string_view kTorchrunExample = "alias torchrun='robustrun --compat=torchrun'";
constexpr std::string_view kMarked = "* an option of torchrun's";

std::size_t width_of(int columns) {
  return static_cast<std::size_t>(std::clamp(columns, kHelpColumnsMin, kHelpColumnsMax));
}

std::string example(std::string_view command) { return fmt::format("\nExample:\n  {}\n", command); }

// Names in a column as wide as the widest of at most kNameColumns, their help beside them.
std::string rows_text(const std::vector<PageRow>& rows, std::size_t columns) {
  const auto width = [](const PageRow& row) {
    return row.name.size() + (row.name.ends_with('-') ? 1 : 2);  // "- " of a list
  };
  std::size_t indent = 0;
  for (const PageRow& row : rows) {
    if (width(row) <= kNameColumns) indent = std::max(indent, width(row));
  }
  if (indent == 0) indent = kNameColumns;
  std::string out;
  for (const PageRow& row : rows) {
    if (row.help.empty()) {
      out += row.name + "\n";
      continue;
    }
    std::string left = row.name;
    if (width(row) > indent) {
      left += "\n" + std::string(indent, ' ');
    } else {
      left.resize(indent, ' ');
    }
    out += left + base::wrap_indented(row.help, columns, indent) + "\n";
  }
  return out;
}

// "  -r, --redirects 0-3|RANK:0-3,..."
std::string left_column(const Option& row) {
  std::string text = row.short_name != '\0' ? fmt::format("  -{}, ", row.short_name) : "      ";
  text += fmt::format("--{}", row.name);
  if (row.type != Type::kFlag) text += fmt::format(" {}", row.values);
  return text;
}

void append_option(const Option& row, std::size_t columns, std::string& out) {
  std::string left = left_column(row);
  if (row.torchrun) left += " *";
  if (left.size() + 2 > kNameColumns) {
    left += "\n" + std::string(kNameColumns, ' ');
  } else {
    left.resize(kNameColumns, ' ');
  }
  out += left + base::wrap_indented(row.help + default_note(row), columns, kNameColumns) + "\n";
}

template <class Wanted>
std::string options_where(Wanted wanted, std::size_t columns) {
  std::string out;
  for (const Option& row : options()) {
    if (wanted(row)) append_option(row, columns, out);
  }
  return out;
}

std::string options_of(Group group, std::size_t columns) {
  return options_where([group](const Option& row) { return row.group == group; }, columns);
}

std::string faults_text(std::size_t columns) {
  using Target = wire::FaultRow::Target;
  const std::pair<Target, std::string_view> kinds[] = {
      {Target::kRank, "Kinds that hit a rank:"},
      {Target::kNode, "Kinds that hit a node:"},
      {Target::kSupervisor, "Kinds that hit the supervisor:"}};
  std::string out;
  for (const auto& [target, heading] : kinds) {
    std::vector<PageRow> rows;
    for (const wire::FaultRow& row : wire::fault_rows()) {
      if (row.target == target) {
        rows.push_back({fmt::format("  {:16}", row.name), std::string(row.help)});
      }
    }
    out += fmt::format("{}\n{}", heading, rows_text(rows, columns));
  }
  return out;
}

// What stands for "@TOPIC" in a page.
std::string expansion(std::string_view topic, std::size_t columns) {
  if (topic == "faults") return faults_text(columns);
  for (const GroupPage& group : group_pages()) {
    if (group.topic == topic) return options_of(group.group, columns);
  }
  RR_ASSERT(false);
  return "";
}

template <class Expand>
std::string page_text(std::string_view text, std::size_t columns, Expand expand) {
  std::string out;
  for (const PageBlock& block : page_blocks(text)) {
    if (!out.empty()) out += "\n";
    for (const PagePart& part : block) {
      switch (part.kind) {
        case PagePart::Kind::kUsage: out += part.text + "\n"; break;
        case PagePart::Kind::kProse:
          out += base::wrap_indented(part.text, columns, 0) + "\n";
          break;
        case PagePart::Kind::kRows: out += rows_text(part.rows, columns); break;
        case PagePart::Kind::kTable: out += expand(part.text); break;
      }
    }
  }
  return out;
}

// A text without tables.
std::string block_text(std::string_view block, std::size_t columns) {
  return page_text(block, columns, [](std::string_view) { return std::string(); });
}

std::string commands_text(std::size_t columns) {
  std::vector<PageRow> rows;
  for (const CommandPage& page : command_pages()) {
    rows.push_back({fmt::format("  {}", page.name), std::string(page.summary)});
  }
  return rows_text(rows, columns);
}

std::string topics_text(std::size_t columns) {
  std::vector<PageRow> rows;
  for (const GroupPage& page : group_pages()) {
    if (!page.summary.empty()) {
      rows.push_back({fmt::format("  {}", page.topic), std::string(page.summary)});
    }
  }
  rows.push_back({"  values", "where values come from: command line, environment, file"});
  rows.push_back({"  torchrun", "torchrun's options"});
  rows.push_back({"  all", "every option and every subcommand"});
  return rows_text(rows, columns);
}

std::string group_help(const GroupPage& page, std::size_t columns) {
  return fmt::format("{}\n\n{}:\n{}\n{}\n{}", usage_line("robustrun"), title(page.group),
                     options_of(page.group, columns), kMarked, example(page.example));
}

std::string values_help(std::size_t columns) {
  return fmt::format("Where values come from\n\n{}\n{}", base::wrap_indented(kValues, columns, 0),
                     example(kValuesExample));
}

std::string torchrun_help(std::size_t columns) {
  return fmt::format("torchrun's options, as robustrun takes them (docs/compat.md):\n\n{}{}",
                     options_where([](const Option& row) { return row.torchrun; }, columns),
                     example(kTorchrunExample));
}

std::string all_help(int columns) {
  std::string out = options_help("robustrun", columns);
  out += "\nSubcommands:\n" + commands_text(width_of(columns)) + "\n" +
         base::wrap_indented(kShadowed, width_of(columns), 0) + "\n";
  for (const CommandPage& page : command_pages()) out += "\n" + command_help(page.name, columns);
  return out;
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

// In docs/cli.md the tables above take the place of lists of options.
std::string markdown_expansion(std::string_view topic) {
  if (topic == "faults") return faults_text(kMarkdownColumns);
  for (const GroupPage& group : group_pages()) {
    if (group.topic == topic) return fmt::format("  (above: {})\n", title(group.group));
  }
  RR_ASSERT(false);
  return "";
}

}  // namespace

std::string default_note(const Option& row) {
  const bool shown = row.native != nullptr && *row.native != '\0';
  if (!shown && row.compat == nullptr) return "";
  if (row.compat == nullptr) return fmt::format(" [{}]", row.native);
  return fmt::format(" [{}; as torchrun: {}]", shown ? row.native : "none", row.compat);
}

std::string usage_line(std::string_view program_name) {
  return fmt::format("usage: {} [options] SCRIPT [ARGS...]", program_name);
}

std::string first_help(int columns) {
  const std::size_t width = width_of(columns);
  return fmt::format(
      "{}\n       robustrun SUBCOMMAND [options]\n\n{}\n\n{}\n"
      "All options, by group (robustrun help GROUP):\n{}\n"
      "Subcommands (robustrun help SUBCOMMAND):\n{}\n{}",
      usage_line("robustrun"), base::wrap_indented(kIntroduction, width, 0),
      block_text(kUsedMost, width), topics_text(width), commands_text(width),
      block_text(kFirstExamples, width));
}

std::string options_help(std::string_view program_name, int columns) {
  const std::size_t width = width_of(columns);
  std::string out =
      usage_line(program_name) + "\n\n" + base::wrap_indented(kIntroduction, width, 0) + "\n";
  for (const GroupPage& page : group_pages()) {
    if (page.summary.empty()) continue;
    out += fmt::format("\n{}:\n{}", title(page.group), options_of(page.group, width));
  }
  out += "\n" + base::wrap_indented(kValues, width, 0) + "\n";
  return out;
}

std::optional<std::string> topic_help(std::string_view topic, int columns) {
  const std::size_t width = width_of(columns);
  if (topic == "all") return all_help(columns);
  if (topic == "values") return values_help(width);
  if (topic == "torchrun") return torchrun_help(width);
  if (find_command_page(topic) != nullptr) return command_help(topic, columns);
  for (const GroupPage& page : group_pages()) {
    if (page.topic == topic) return group_help(page, width);
  }
  return std::nullopt;
}

std::vector<std::string> help_topics() {
  std::vector<std::string> topics = command_names();
  for (const GroupPage& page : group_pages()) {
    if (!page.summary.empty()) topics.emplace_back(page.topic);
  }
  topics.insert(topics.end(), {"values", "torchrun", "all"});
  return topics;
}

std::string command_help(std::string_view subcommand, int columns) {
  const CommandPage* page = find_command_page(subcommand);
  RR_ASSERT(page != nullptr);
  const std::size_t width = width_of(columns);
  return page_text(page->text, width,
                   [width](std::string_view topic) { return expansion(topic, width); });
}

std::string command_usage(std::string_view subcommand) {
  const CommandPage* page = find_command_page(subcommand);
  RR_ASSERT(page != nullptr);
  return page_blocks(page->text).front().front().text + "\n";
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const CommandPage& page : command_pages()) names.emplace_back(page.name);
  return names;
}

std::string help_markdown() {
  std::string out =
      "# Command line\n\nMade by `robustrun help --markdown` from the tables that the parser and "
      "`--help` use (cli/options/); a test compares.\n\n    " +
      usage_line("robustrun") + "\n\n" + std::string(kIntroduction) + "\n";
  for (const GroupPage& page : group_pages()) {
    out += fmt::format(
        "\n## {}\n\n| Option | Default | Variable | TOML key | Meaning |\n"
        "|---|---|---|---|---|\n",
        title(page.group));
    for (const Option& row : options()) {
      if (row.group == page.group) out += markdown_row(row);
    }
  }
  out += "\n\\* An option of torchrun's.\n\n## Where values come from\n\n";
  out += kValues;
  out +=
      "\n\nEverything after SCRIPT belongs to the script. `--` before it ends the options. In a "
      "file, `script` and `args` may name the script and its arguments; a script on the command "
      "line replaces both. A flag's variable is an integer: `PET_STANDALONE=1`.\n\n"
      "Exit codes: [operations.md](operations.md). Differences from torchrun: "
      "[compat.md](compat.md).\n\n## Subcommands\n\n";
  out += std::string(kShadowed) + "\n";
  for (const CommandPage& page : command_pages()) {
    out += fmt::format("\n### {}\n\n```\n{}```\n", page.name,
                       page_text(page.text, kMarkdownColumns, markdown_expansion));
  }
  return out;
}

}  // namespace robustrun::cli
