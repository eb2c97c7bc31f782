// The script for zsh: one call of _arguments for each subcommand.

#include <fmt/format.h>

#include <vector>

#include "base/core/text.h"
#include "cli/manual/command_syntax.h"
#include "cli/manual/completion.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {
namespace {

// Within single quotes, and for _arguments and _describe, which give a meaning to the rest.
std::string zsh_escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

// The first sentence of a help text, without the stop.
std::string_view first_sentence(std::string_view help) {
  help = help.substr(0, help.find(". "));
  if (help.ends_with('.')) help.remove_suffix(1);
  return help;
}

// The action of _arguments that completes a value.
std::string zsh_action(const ValueSyntax& value, std::string_view function) {
  std::string other;
  switch (value.kind) {
    case ValueSyntax::Kind::kOther: break;
    case ValueSyntax::Kind::kFile: other = "_files"; break;
    case ValueSyntax::Kind::kFolder: other = "_files -/"; break;
    case ValueSyntax::Kind::kRun: other = fmt::format("{}_runs", function); break;
  }
  if (value.words.empty()) return other.empty() ? " " : other;
  const std::string words = base::join(value.words, " ");
  if (other.empty()) return fmt::format("({})", words);
  return fmt::format("{{compadd -- {}; {}}}", words, other);
}

// "'(-n --lines)'{-n+,--lines=}'[help]:N: '"
std::string zsh_option(const OptionSyntax& option, std::string_view function) {
  const bool is_flag = option.placeholder.empty();
  const bool repeats = option.help.find("may be repeated") != std::string::npos;
  std::string text;
  if (!option.help.empty()) {
    text = fmt::format("[{}]", zsh_escaped(first_sentence(option.help), "[]\\"));
  }
  if (!is_flag) {
    text += fmt::format(":{}:{}", zsh_escaped(option.placeholder, ":\\"),
                        zsh_action(option.value, function));
  }
  if (option.names.size() == 1) {
    return fmt::format("'{}{}{}{}'", repeats ? "*" : "", option.names[0], is_flag ? "" : "=", text);
  }
  return fmt::format("'({0} {1})'{{{0}{2},{1}{3}}}'{4}'", option.names[0], option.names[1],
                     is_flag ? "" : "+", is_flag ? "" : "=", text);
}

std::string zsh_arguments(const CommandSyntax& command, std::string_view function) {
  std::string out;
  if (!command.verbs.empty()) {
    out += fmt::format(" \\\n        '1:verb:({})'", base::join(command.verbs, " "));
  }
  if (command.arguments.empty()) return out;
  std::vector<std::string> names, actions;
  for (const ArgumentSyntax& argument : command.arguments) {
    names.push_back(argument.placeholder);
    const std::string action = zsh_action(argument.value, function);
    if (action.starts_with('(')) {
      actions.push_back("compadd -- " + base::join(argument.value.words, " "));
    } else if (action != " ") {
      actions.push_back(action);
    }
  }
  std::string action = actions.empty() ? " " : fmt::format("{{{}}}", base::join(actions, "; "));
  return out + fmt::format(" \\\n        '*:{}:{}'", base::join(names, " or "), action);
}

std::string zsh_case(const CommandSyntax& command, std::string_view function) {
  std::string out = fmt::format("    {})\n      _arguments -s -S", command.name);
  std::vector<OptionSyntax> own = command.options;
  if (command.takes_run_options) own.pop_back();  // --help is one of a run's
  for (const OptionSyntax& option : own) out += " \\\n        " + zsh_option(option, function);
  if (command.takes_run_options) {
    out += " \\\n        $run_options '(-)1:SCRIPT:_files' '*::ARGS:_files'";
  } else {
    out += zsh_arguments(command, function);
  }
  return out + " ;;\n";
}

std::string zsh_subcommands(const std::vector<CommandSyntax>& commands) {
  std::vector<std::string> names;
  std::string out = "  local -a commands=(\n";
  for (const CommandSyntax& command : commands) {
    names.push_back(command.name);
    out += fmt::format("    '{}:{}'\n", command.name, zsh_escaped(command.summary, ":\\"));
  }
  return out + fmt::format(
                   "  )\n"
                   "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
                   "    _describe -t commands subcommand commands\n"
                   "    _files\n"
                   "    return\n"
                   "  fi\n"
                   "  case $words[2] in\n"
                   "    {})\n"
                   "      command=$words[2]\n"
                   "      shift words\n"
                   "      (( CURRENT-- )) ;;\n"
                   "  esac\n",
                   base::join(names, "|"));
}

}  // namespace

std::string zsh_completion(std::string_view program_name) {
  const std::string function = completion_function(program_name);
  const bool is_torchs = is_name_of_torch(program_name);
  std::vector<CommandSyntax> commands = command_syntaxes();
  if (is_torchs) {
    std::erase_if(commands, [](const CommandSyntax& command) { return command.name != "run"; });
  }
  std::string out = fmt::format(
      "#compdef {0}\n"
      "# zsh completion for {0}, made by `robustrun completion zsh`.\n\n"
      "# Ids of runs. A script named \"ls\" in this directory would be started instead: then "
      "none.\n"
      "{1}_runs() {{\n"
      "  local -a runs\n"
      "  [[ -e ls ]] || runs=(${{(f)\"$(${{~program}} ls --ids 2>/dev/null)\"}})\n"
      "  compadd -- latest $runs\n"
      "}}\n\n"
      "{1}() {{\n"
      "  local program=$words[1] command=run\n"
      "  local -a run_options=(\n",
      program_name, function);
  for (const OptionSyntax& option : run_option_syntaxes()) {
    out += "    " + zsh_option(option, function) + "\n";
  }
  out += "  )\n";
  if (!is_torchs) out += zsh_subcommands(commands);
  out += "  case $command in\n";
  for (const CommandSyntax& command : commands) out += zsh_case(command, function);
  return out + fmt::format(
                   "  esac\n}}\n\n"
                   "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
                   "  {0} \"$@\"\n"
                   "else\n"
                   "  compdef {0} {1}\n"
                   "fi\n",
                   function, program_name);
}

}  // namespace robustrun::cli
