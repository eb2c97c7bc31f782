#pragma once
// The options and arguments of each subcommand, read from the options table and the help pages: for
// the completion scripts and the manual page. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options/help_pages.h"
#include "cli/options/options_table.h"

namespace robustrun::cli {

// The values that a placeholder allows.
struct ValueSyntax {
  enum class Kind : std::uint8_t { kOther, kFile, kFolder, kRun };
  Kind kind = Kind::kOther;
  std::vector<std::string> words;  // these words are allowed, too
};

struct OptionSyntax {
  std::vector<std::string> names;  // "-n", "--lines"
  std::string placeholder;  // "N"; empty: a flag
  std::string help;  // may be empty
  ValueSyntax value;
};

struct ArgumentSyntax {
  std::string placeholder;
  ValueSyntax value;
};

struct CommandSyntax {
  std::string name;
  std::string summary;
  std::vector<OptionSyntax> options;  // the last one is --help
  bool takes_run_options = false;  // also a run's options, script and arguments
  std::vector<std::string> verbs;  // one of them comes first: robustrun ckpt ls
  std::vector<ArgumentSyntax> arguments;
};

// In the order of the help pages.
[[nodiscard]] std::vector<CommandSyntax> command_syntaxes();

// The options of a run, --help among them.
[[nodiscard]] std::vector<OptionSyntax> run_option_syntaxes();

// The syntax of a row of the options table.
[[nodiscard]] OptionSyntax option_syntax(const Option& row);

// "FILE|auto|off": a file, or one of two words. The placeholders DIR, DIRECTORY, FILE, PATH, OUT,
// SCRIPT and RUN decide the kind; words are in small letters.
[[nodiscard]] ValueSyntax value_syntax(std::string_view placeholder);

}  // namespace robustrun::cli
