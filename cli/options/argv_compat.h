#pragma once
// Where options end and the script begins, by argparse's rules (docs/compat.md). Pure.
//
// CLI11 knows neither abbreviations nor nargs=REMAINDER as torchrun uses it, so the command line
// is normalised here first: abbreviations spelt out, values split from their options, short
// options (-r3, -mt 3) told apart, "--" before the script swallowed. What follows the script is
// left untouched. Whether values make sense is for the parser to say.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::cli {

struct SplitArgv {
  std::vector<std::string> options;    // "--nproc-per-node", "2", "--module", ...
  std::optional<std::string> script;
  std::vector<std::string> arguments;  // of the script
};

// `argv` without the program's name. Errors are argparse's sentences (kInvalidArgument).
[[nodiscard]] base::Result<SplitArgv> split_argv(std::span<const std::string> argv);

}  // namespace robustrun::cli
