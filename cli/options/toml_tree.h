#pragma once
// A TOML text as plain data. The only user of toml++ (in toml_tree.cpp). Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::cli {

struct TomlAt {
  std::uint32_t line = 0;  // both from 1
  std::uint32_t column = 0;
};

struct TomlEntry;

struct TomlValue {
  enum class Type : std::uint8_t {
    kTable,
    kArray,
    kString,
    kInteger,
    kNumber,
    kBoolean,
    kTime,
  };
  Type type = Type::kTable;
  TomlAt at;
  std::string text;              // kString
  std::int64_t integer = 0;      // kInteger
  double number = 0;             // kNumber
  bool flag = false;             // kBoolean
  std::vector<TomlValue> items;  // kArray
  std::vector<TomlEntry> entries;  // kTable, in the order of the text
};

struct TomlEntry {
  std::string key;
  TomlAt at;  // of the key
  TomlValue value;
};

// "a table", "an integer", ...
[[nodiscard]] const char* type_name(TomlValue::Type type);

// The text of a string or of an integer.
[[nodiscard]] std::optional<std::string> scalar_text(const TomlValue& value);

// Parses the whole text as a table. The error is "PATH:LINE:COLUMN: what", or "PATH:LINE: what" if
// the text is nested too deep; `path` appears only there.
[[nodiscard]] base::Result<TomlValue> parse_toml(std::string_view text, const std::string& path);

}  // namespace robustrun::cli
