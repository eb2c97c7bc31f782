// The script for bash 4.4 and newer: two functions that hold the tables, and one that reads the
// command line as the parser would.

#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "base/core/text.h"
#include "cli/manual/command_syntax.h"
#include "cli/manual/completion.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {
namespace {

// @F is the name of the function, @P the program's.
constexpr std::string_view kBashReader = R"(
# Ids of runs. A script named "ls" in this directory would be started instead: then none.
@F_runs() {
  [[ -e ls ]] || "${COMP_WORDS[0]/#\~/$HOME}" ls --ids 2>/dev/null
}

@F() {
  local IFS=$' \t\n' word=${COMP_WORDS[COMP_CWORD]} command=run at=1 count=0
  local flags='' valued='' words='' kind=files script='' option='' prefix='' each name
  COMPREPLY=()
  if ((COMP_CWORD > 1)) && [[ " $@F_commands " == *" ${COMP_WORDS[1]} "* ]]; then
    command=${COMP_WORDS[1]} at=2
  fi
  @F_syntax "$command"
  while ((at < COMP_CWORD)); do
    each=${COMP_WORDS[at]} name=${COMP_WORDS[at]}
    [[ $name == --* ]] && name=${name//_/-}
    case $each in
      --*=*) ((at += 1)) ;;
      -*)
        if [[ ${COMP_WORDS[at + 1]} == '=' ]]; then  # bash splits words there
          ((at + 2 >= COMP_CWORD)) && option=$name
          ((at += 3))
        elif [[ " $valued " == *" $name "* ]]; then
          ((at + 1 == COMP_CWORD)) && option=$name
          ((at += 2))
        else
          ((at += 1))
        fi ;;
      *)
        [[ -n $script ]] && return  # the rest belongs to the script
        ((at += 1, count += 1)) ;;
    esac
  done
  [[ $word == '=' ]] && word=''
  if [[ -z $option && $word == --*=* ]]; then
    prefix=${word%%=*}= option=${word%%=*} word=${word#*=}
    option=${option//_/-}
  fi
  if [[ -n $option ]]; then
    words='' kind=none
    @F_value "$command $option"
    [[ $kind == none && -z $words && -n $script ]] && @F_value "run $option"
  elif [[ $word == -* ]]; then
    words="$flags $valued" kind=none
  elif ((COMP_CWORD == 1)); then
    words=$@F_commands kind=files
  elif [[ $kind == verbs:* ]]; then
    if ((count == 0)); then kind=none; else words='' kind=${kind#verbs:}; fi
  fi
  for each in $words; do
    [[ $each == "$word"* ]] && COMPREPLY+=("$prefix$each")
  done
  case $kind in
    runs)
      while read -r each; do
        printf -v each %q "$each"
        [[ $each == "$word"* ]] && COMPREPLY+=("$prefix$each")
      done < <(echo latest; @F_runs) ;;
    folders) compopt -o dirnames +o default 2>/dev/null ;;
    none) compopt +o default 2>/dev/null ;;
    files)
      # Files beside words; alone they are bash's own default.
      if ((${#COMPREPLY[@]} > 0)) && [[ -n $word ]]; then
        compopt -o filenames 2>/dev/null
        while read -r each; do COMPREPLY+=("$prefix$each"); done < <(compgen -f -- "$word")
      fi ;;
  esac
}

complete -o default -F @F @P
)";

std::string with_names(std::string_view text, std::string_view program_name) {
  const std::string function = completion_function(program_name);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "@F") {
      out += function;
      ++i;
    } else if (text.substr(i, 2) == "@P") {
      out += program_name;
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

const char* bash_kind(const ValueSyntax& value) {
  switch (value.kind) {
    case ValueSyntax::Kind::kOther: return "none";
    case ValueSyntax::Kind::kFile: return "files";
    case ValueSyntax::Kind::kFolder: return "folders";
    case ValueSyntax::Kind::kRun: return "runs";
  }
  return "none";
}

std::string option_names(const std::vector<OptionSyntax>& options, bool valued) {
  std::vector<std::string> names;
  for (const OptionSyntax& option : options) {
    if (option.placeholder.empty() == valued) continue;
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return base::join(names, " ");
}

// " words='a b' kind=files", where they are not the values that the script begins with.
std::string assignments(const std::vector<std::string>& words, std::string_view kind) {
  std::string out;
  if (!words.empty()) out += fmt::format(" words='{}'", base::join(words, " "));
  if (!kind.empty()) out += fmt::format(" kind={}", kind);
  return out;
}

// What stands for the arguments of a subcommand without a script.
std::string bash_arguments(const CommandSyntax& command) {
  std::vector<std::string> words;
  std::string kind = "none";
  for (const ArgumentSyntax& argument : command.arguments) {
    words.insert(words.end(), argument.value.words.begin(), argument.value.words.end());
    if (kind == "none") kind = bash_kind(argument.value);
  }
  if (!command.verbs.empty()) return assignments(command.verbs, "verbs:" + kind);
  return assignments(words, kind);
}

// Sets what subcommand $1 takes.
std::string bash_syntax(const std::vector<CommandSyntax>& commands) {
  const auto run_options = run_option_syntaxes();
  std::string out =
      fmt::format("@F_syntax() {{\n  local run_flags='{}'\n  local run_valued='{}'\n  case $1 in\n",
                  option_names(run_options, false), option_names(run_options, true));
  for (const CommandSyntax& command : commands) {
    out += fmt::format("    {})\n     ", command.name);
    std::vector<OptionSyntax> own = command.options;
    if (command.takes_run_options) {
      own.pop_back();  // --help is one of a run's
      out += fmt::format(" flags=\"$run_flags {}\" valued=\"$run_valued {}\" script=1 ;;\n",
                         option_names(own, false), option_names(own, true));
    } else {
      out += fmt::format(" flags='{}' valued='{}'{} ;;\n", option_names(own, false),
                         option_names(own, true), bash_arguments(command));
    }
  }
  return out + "  esac\n}\n";
}

// Sets what may stand for the value of an option; $1: "COMMAND OPTION".
std::string bash_values(const std::vector<CommandSyntax>& commands) {
  std::map<std::string, std::vector<std::string>> patterns;  // by assignments
  const auto add = [&](const std::string& command, const std::vector<OptionSyntax>& options) {
    for (const OptionSyntax& option : options) {
      const bool is_any =
          option.value.kind == ValueSyntax::Kind::kOther && option.value.words.empty();
      if (option.placeholder.empty() || is_any) continue;
      for (const std::string& name : option.names) {
        patterns[assignments(option.value.words, bash_kind(option.value))].push_back(
            fmt::format("'{} {}'", command, name));
      }
    }
  };
  add("run", run_option_syntaxes());
  for (const CommandSyntax& command : commands) {
    if (command.name != "run") add(command.name, command.options);
  }
  std::string out = "@F_value() {\n  case $1 in\n";
  for (const auto& [assigned, names] : patterns) {
    out += fmt::format("    {})\n     {} ;;\n", base::join(names, " | "), assigned);
  }
  return out + "  esac\n}\n";
}

}  // namespace

std::string bash_completion(std::string_view program_name) {
  std::vector<CommandSyntax> commands = command_syntaxes();
  if (is_name_of_torch(program_name)) {
    std::erase_if(commands, [](const CommandSyntax& command) { return command.name != "run"; });
  }
  std::vector<std::string> names;
  for (const CommandSyntax& command : commands) names.push_back(command.name);
  if (is_name_of_torch(program_name)) names.clear();
  return with_names(fmt::format("# bash completion for @P, made by `robustrun completion bash`.\n\n"
                                "@F_commands='{}'\n\n",
                                base::join(names, " ")) +
                        bash_syntax(commands) + "\n" + bash_values(commands) +
                        std::string(kBashReader),
                    program_name);
}

}  // namespace robustrun::cli
