#pragma once
// Reads a job's TOML file, checked against the options table. Pure.
//
// Keys are option names with underscores (dashes are accepted) at the top level, and `script` and
// `args`. Errors name the file and, but for a few, line, column and key; for an unknown key also
// the nearest valid one.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "cli/options/options_table.h"

namespace robustrun::cli {

struct FileValue {
  OptionId id;
  std::string text;   // as it would stand on the command line; a flag: "0" or "1"
  std::string where;  // "job.toml:3: max_restarts"
};

struct FileConfig {
  std::vector<FileValue> values;
  std::optional<std::string> script;
  std::vector<std::string> arguments;
  std::string path;
};

// `path` appears only in messages. Errors are kInvalidArgument.
[[nodiscard]] base::Result<FileConfig> parse_config(std::string_view text, const std::string& path);

}  // namespace robustrun::cli
