#include "cli/options/config_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "cli/options/toml_tree.h"
#include "cli/options/values.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;

constexpr const char* kScriptKey = "script";
constexpr const char* kArgsKey = "args";

const char* wanted_type(Type type) {
  switch (type) {
    case Type::kFlag: return "true or false";
    case Type::kInteger: return "an integer";
    case Type::kNumber: return "a number";
    case Type::kText:
    case Type::kChoice: return "a string";
    case Type::kWord: return "a string or an integer";
    case Type::kDuration: return "a number of seconds or a string such as \"15m\"";
    case Type::kList: return "a string or an array";
    case Type::kFilters: return "an array of strings that do not begin with a comma";
  }
  return "";
}

// The elements of `array` as texts; nullopt unless all are strings, or integers if `integers`.
std::optional<std::vector<std::string>> texts_of(const TomlValue& array, bool integers) {
  std::vector<std::string> texts;
  for (const TomlValue& element : array.items) {
    if (!integers && element.type != TomlValue::Type::kString) return std::nullopt;
    auto text = scalar_text(element);
    if (!text) return std::nullopt;
    texts.push_back(*std::move(text));
  }
  return texts;
}

// The value as on the command line; nullopt if it has the wrong type.
std::optional<std::string> text_of(const TomlValue& value, Type type) {
  const bool is_string = value.type == TomlValue::Type::kString;
  const bool is_integer = value.type == TomlValue::Type::kInteger;
  const bool is_number = value.type == TomlValue::Type::kNumber;
  const bool is_array = value.type == TomlValue::Type::kArray;
  switch (type) {
    case Type::kFlag:
      if (value.type == TomlValue::Type::kBoolean) return value.flag ? "1" : "0";
      return std::nullopt;
    case Type::kInteger: return is_integer ? scalar_text(value) : std::nullopt;
    case Type::kNumber:
      if (is_number) return fmt::format("{}", value.number);
      return is_integer ? scalar_text(value) : std::nullopt;
    case Type::kText:
    case Type::kChoice: return is_string ? scalar_text(value) : std::nullopt;
    case Type::kWord: return scalar_text(value);
    case Type::kDuration:
      if (is_number) return fmt::format("{}", value.number);
      return scalar_text(value);
    case Type::kList:
      if (is_array) {
        const auto texts = texts_of(value, true);
        return texts ? std::optional(base::join(*texts, ",")) : std::nullopt;
      }
      return is_string ? scalar_text(value) : std::nullopt;
    case Type::kFilters:
      if (is_array) {
        // On the command line ",," is a comma, so no element can begin with one.
        const auto texts = texts_of(value, false);
        const auto leading = [](const std::string& text) { return text.starts_with(','); };
        if (!texts || std::ranges::any_of(*texts, leading)) return std::nullopt;
        return filters_text(*texts);
      }
      return std::nullopt;
  }
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) { config_.path = path; }

  Result<FileConfig> read(const TomlValue& table) {
    for (const TomlEntry& entry : table.entries) RR_TRY(take(entry.key, entry.at, entry.value));
    if (config_.script || config_.arguments.empty()) return std::move(config_);
    return fail(Errc::kInvalidArgument,
                fmt::format("{}: args needs script: they are the arguments of that script", path_));
  }

 private:
  base::Status take(const std::string& key, TomlAt at, const TomlValue& value) {
    if (key == kScriptKey) return script(at, value);
    if (key == kArgsKey) return arguments(at, value);
    const Option* row = find_by_key(key);
    if (row == nullptr) return unknown(key, at);
    for (const FileValue& earlier : config_.values) {
      if (earlier.id == row->id) return error(at, fmt::format("{} is given twice", key));
    }
    const auto text = text_of(value, row->type);
    if (!text) return wrong_type(key, at, wanted_type(row->type), value);
    if (const auto why = value_error(*row, *text)) {
      return error(at, fmt::format("{}: {}", key, *why));
    }
    config_.values.push_back({row->id, *text, fmt::format("{}:{}: {}", path_, at.line, key)});
    return {};
  }

  base::Status script(TomlAt at, const TomlValue& value) {
    if (value.type != TomlValue::Type::kString) {
      return wrong_type(kScriptKey, at, "a string", value);
    }
    config_.script = value.text;
    return {};
  }

  base::Status arguments(TomlAt at, const TomlValue& value) {
    const bool is_array = value.type == TomlValue::Type::kArray;
    auto texts = is_array ? texts_of(value, true) : std::nullopt;
    if (!texts) return wrong_type(kArgsKey, at, "an array of strings and integers", value);
    config_.arguments = *std::move(texts);
    return {};
  }

  std::unexpected<base::Error> unknown(const std::string& key, TomlAt at) const {
    std::vector<std::string> keys{kScriptKey, kArgsKey};
    for (const Option& row : options()) {
      if (row.file) keys.push_back(underscored(row.name));
    }
    return error(at, fmt::format("unknown key '{}'{}; `robustrun --help` lists the options, and "
                                 "their names are the keys",
                                 key, did_you_mean(underscored(key), keys)));
  }

  std::unexpected<base::Error> wrong_type(const std::string& key, TomlAt at, const char* wanted,
                                          const TomlValue& value) const {
    return error(at, fmt::format("{} must be {}, not {}{}", key, wanted, type_name(value.type),
                                 value.type == TomlValue::Type::kArray ? " of such elements" : ""));
  }

  std::unexpected<base::Error> error(TomlAt at, const std::string& what) const {
    return fail(Errc::kInvalidArgument,
                fmt::format("{}:{}:{}: {}", path_, at.line, at.column, what));
  }

  const std::string& path_;
  FileConfig config_;
};

}  // namespace

Result<FileConfig> parse_config(std::string_view text, const std::string& path) {
  const TomlValue table = RR_TRY(parse_toml(text, path));
  return Reader(path).read(table);
}

}  // namespace robustrun::cli
