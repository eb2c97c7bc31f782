#pragma once
// Splits the command line by argparse's rules (docs/compat.md). Pure.
//
// CLI11 knows neither abbreviations nor nargs=REMAINDER as torchrun uses it, so the command line is
// normalised here first: abbreviations are spelt out, values split from their options, short
// options (-r3, -mt 3) separated, and "--" before the script dropped. What follows the script stays
// untouched. The parser checks the values.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::cli {

struct SplitArgv {
  std::vector<std::string> options;  // "--nproc-per-node", "2", "--module", ...
  std::optional<std::string> script;
  std::vector<std::string> arguments;  // the script's
};

// `argv` without the program's name. Errors are in argparse's words (kInvalidArgument).
[[nodiscard]] base::Result<SplitArgv> split_argv(std::span<const std::string> argv);

}  // namespace robustrun::cli
