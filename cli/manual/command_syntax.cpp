#include "cli/manual/command_syntax.h"

#include <algorithm>
#include <string_view>

#include "base/core/text.h"
#include "cli/options/help_text.h"
#include "cli/options/page_blocks.h"
#include "simulator/failure_model.h"
#include "wire/messages/injection.h"

namespace robustrun::cli {
namespace {

using ValueKind = ValueSyntax::Kind;
using Words = std::vector<std::string>;

Words fault_words() {
  Words words;
  for (const wire::FaultRow& row : wire::fault_rows()) words.emplace_back(row.name);
  return words;
}

Words preset_words() {
  Words words;
  for (const simulator::FailureModel& model : simulator::presets()) words.push_back(model.name);
  return words;
}

// Words that a page has in its prose alone.
Words listed_words(std::string_view command, std::string_view name) {
  if (command == "ckpt" && name == "--to") return {"safetensors", "dcp", "torch"};
  if (command == "completion" && name == "SHELL") return {"bash", "zsh"};
  if (command == "help" && name == "TOPIC") return help_topics();
  if (command == "inject" && name == "KIND") return fault_words();
  if (command == "sim" && name == "--preset") return preset_words();
  if (command == "sim" && name == "--compare") {
    return {"torchrun", "torchrun-slow", "byterobust", "byterobust-all-in", "none"};
  }
  if (command == "stop" && name == "--signal") {
    return {"SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"};
  }
  return {};
}

bool is_small_word(std::string_view text) {
  return !text.empty() && text.front() >= 'a' && text.front() <= 'z' &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

// "N" of "[N", "FILE" of "FILE...]".
std::string_view bare_token(std::string_view token) {
  while (token.starts_with('[')) token.remove_prefix(1);
  while (token.ends_with(']') || token.ends_with('.')) token.remove_suffix(1);
  return token;
}

bool is_placeholder(std::string_view token) {
  return !token.empty() && std::ranges::all_of(token, [](char c) { return c >= 'A' && c <= 'Z'; });
}

bool has_option(const CommandSyntax& command, std::string_view name) {
  return std::ranges::any_of(command.options, [&](const OptionSyntax& option) {
    return std::ranges::find(option.names, name) != option.names.end();
  });
}

void add_option(CommandSyntax& command, OptionSyntax option) {
  const std::string& name = option.names.back();
  if (has_option(command, name)) return;
  option.value = value_syntax(option.placeholder);
  if (auto words = listed_words(command.name, name); !words.empty()) option.value.words = words;
  command.options.push_back(std::move(option));
}

// "  -n, --lines N" with its help.
void take_row(const PageRow& row, CommandSyntax& command) {
  const std::string_view text = base::trim(row.name);
  if (text.size() < 2 || !text.starts_with('-')) return;
  OptionSyntax option;
  option.help = row.help;
  for (const std::string_view word : base::split(text, ' ')) {
    if (!word.starts_with('-')) {
      option.placeholder = word;
    } else {
      option.names.emplace_back(word.ends_with(',') ? word.substr(0, word.size() - 1) : word);
    }
  }
  add_option(command, std::move(option));
}

// "usage: robustrun ckpt ls DIRECTORY... [--json]" and the lines below it.
void take_usage(std::string_view usage, CommandSyntax& command) {
  std::string words(usage);
  std::ranges::replace(words, '\n', ' ');
  std::string_view option;  // the word before, if it is one
  bool is_after_name = false;
  for (const std::string_view token : base::split(words, ' ')) {
    if (token.empty()) continue;
    const std::string_view bare = bare_token(token);
    if (is_after_name && is_small_word(bare) && !token.starts_with('[')) {
      if (std::ranges::find(command.verbs, bare) == command.verbs.end()) {
        command.verbs.emplace_back(bare);
      }
    } else if (bare.starts_with("--")) {
      if (token.ends_with(']')) add_option(command, {{std::string(bare)}, {}, {}, {}});
    } else if (!option.empty()) {
      const bool is_value = is_placeholder(bare);
      add_option(command, {{std::string(option)}, is_value ? std::string(bare) : "", {}, {}});
    } else if (is_placeholder(bare) && bare != "ARGS" &&
               std::ranges::find(command.arguments, bare, &ArgumentSyntax::placeholder) ==
                   command.arguments.end()) {
      ArgumentSyntax argument{std::string(bare), value_syntax(bare)};
      if (auto own = listed_words(command.name, bare); !own.empty()) argument.value.words = own;
      command.arguments.push_back(std::move(argument));
    }
    option = bare.starts_with("--") && !token.ends_with(']') ? bare : std::string_view();
    is_after_name = bare == command.name && !is_after_name;
  }
}

void take_table(std::string_view topic, CommandSyntax& command) {
  for (const GroupPage& page : group_pages()) {
    if (page.topic != topic || !page.summary.empty()) continue;
    for (const Option& row : options()) {
      if (row.group == page.group) add_option(command, option_syntax(row));
    }
  }
}

CommandSyntax syntax_of(const CommandPage& page) {
  CommandSyntax command;
  command.name = page.name;
  command.summary = page.summary;
  command.takes_run_options = page.name == "run";
  std::string usage;
  for (const PageBlock& block : page_blocks(page.text)) {
    for (const PagePart& part : block) {
      switch (part.kind) {
        case PagePart::Kind::kUsage: usage = part.text; break;
        case PagePart::Kind::kProse:
          if (part.text.find("Takes the options of a run") != std::string::npos) {
            command.takes_run_options = true;
          }
          break;
        case PagePart::Kind::kRows:
          for (const PageRow& row : part.rows) take_row(row, command);
          break;
        case PagePart::Kind::kTable: take_table(part.text, command); break;
      }
    }
  }
  take_usage(usage, command);
  add_option(command, {{"-h", "--help"}, {}, "show help and exit", {}});
  return command;
}

bool is_group_of_runs(Group group) {
  return std::ranges::any_of(group_pages(), [group](const GroupPage& page) {
    return page.group == group && !page.summary.empty();
  });
}

}  // namespace

ValueSyntax value_syntax(std::string_view placeholder) {
  ValueSyntax value;
  for (std::string_view piece : base::split(placeholder, '|')) {
    piece = piece.substr(0, piece.find_first_of(".,"));
    if (piece == "DIR" || piece == "DIRECTORY") value.kind = ValueKind::kFolder;
    if (piece == "FILE" || piece == "PATH" || piece == "OUT" || piece == "SCRIPT") {
      value.kind = ValueKind::kFile;
    }
    if (piece == "RUN") value.kind = ValueKind::kRun;
    if (is_small_word(piece)) value.words.emplace_back(piece);
  }
  return value;
}

OptionSyntax option_syntax(const Option& row) {
  OptionSyntax option;
  if (row.short_name != '\0') option.names.push_back(std::string("-") + row.short_name);
  option.names.push_back(std::string("--") + row.name);
  if (row.type != Type::kFlag) option.placeholder = row.values;
  option.help = row.help;
  option.value = value_syntax(option.placeholder);
  return option;
}

std::vector<CommandSyntax> command_syntaxes() {
  std::vector<CommandSyntax> commands;
  for (const CommandPage& page : command_pages()) commands.push_back(syntax_of(page));
  return commands;
}

std::vector<OptionSyntax> run_option_syntaxes() {
  std::vector<OptionSyntax> found;
  for (const Option& row : options()) {
    if (is_group_of_runs(row.group)) found.push_back(option_syntax(row));
  }
  return found;
}

}  // namespace robustrun::cli
