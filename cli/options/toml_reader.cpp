#include "cli/options/toml_reader.h"

#include <fmt/format.h>

#include "base/core/text.h"
#include "cli/options/values.h"

namespace robustrun::cli {

TomlReader::Error TomlReader::wrong_type(const TomlEntry& entry, const std::string& wanted) const {
  return error(entry.at, fmt::format("{} must be {}", base::printable(entry.key), wanted));
}

TomlReader::Error TomlReader::unknown(const TomlEntry& entry,
                                      const std::vector<std::string>& keys) const {
  return error(entry.at,
               fmt::format("unknown key '{}'{}; expected one of {}", base::printable(entry.key),
                           did_you_mean(entry.key, keys), base::join(keys, ", ")));
}

TomlReader::Error TomlReader::at_line_and_column(const std::string& path, TomlAt at,
                                                 const std::string& what) {
  return base::fail(base::Errc::kInvalidArgument,
                    fmt::format("{}:{}:{}: {}", path, at.line, at.column, what));
}

}  // namespace robustrun::cli
