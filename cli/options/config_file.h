#pragma once
// A job's TOML file to plain data, checked against the options table. Pure: text in, values out.
//
// Every key is an option's name with underscores (dashes are fine, too), at the top level; and
// `script` and `args`. Errors name file, line and column, the key and the nearest valid one.

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

// `path` is for messages alone. kInvalidArgument.
[[nodiscard]] base::Result<FileConfig> parse_config(std::string_view text, const std::string& path);

}  // namespace robustrun::cli
