#pragma once
// Base class of readers of TOML tables; it words their errors. Pure.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "cli/options/toml_tree.h"

namespace robustrun::cli {

class TomlReader {
 protected:
  using Error = std::unexpected<base::Error>;
  using Place = Error (*)(const std::string& path, TomlAt at, const std::string& what);

  // `path` must outlive the reader. `place` puts the position in front of an error.
  explicit TomlReader(const std::string& path, Place place = &at_line_and_column)
      : path_(path), place_(place) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] Error error(TomlAt at, const std::string& what) const {
    return place_(path_, at, what);
  }
  // "KEY must be WANTED"
  [[nodiscard]] Error wrong_type(const TomlEntry& entry, const std::string& wanted) const;
  // `keys`: the keys that the table of `entry` may have.
  [[nodiscard]] Error unknown(const TomlEntry& entry, const std::vector<std::string>& keys) const;

 private:
  // "PATH:LINE:COLUMN: WHAT"
  static Error at_line_and_column(const std::string& path, TomlAt at, const std::string& what);

  const std::string& path_;
  Place place_;
};

}  // namespace robustrun::cli
