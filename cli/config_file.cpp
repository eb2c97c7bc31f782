#include "cli/config_file.h"

#include <fmt/format.h>

#include <algorithm>

// Debian's library is built with exceptions and lacks the functions for this setting.
#undef TOML_SHARED_LIB
#undef TOML_HEADER_ONLY
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "base/core/text.h"
#include "cli/values.h"

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

const char* type_name(toml::node_type type) {
  switch (type) {
    case toml::node_type::none: return "nothing";
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "an array";
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a decimal fraction";
    case toml::node_type::boolean: return "a boolean";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time: return "a date or time";
  }
  return "something else";
}

std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  return std::nullopt;
}

// Strings, and integers where `integers`; nullopt when anything else is among them.
std::optional<std::vector<std::string>> texts_of(const toml::array& array, bool integers) {
  std::vector<std::string> texts;
  for (const toml::node& element : array) {
    if (!integers && !element.is_string()) return std::nullopt;
    auto text = scalar_text(element);
    if (!text) return std::nullopt;
    texts.push_back(*std::move(text));
  }
  return texts;
}

// As it would stand on the command line; nullopt for a wrong type.
std::optional<std::string> text_of(const toml::node& node, Type type) {
  switch (type) {
    case Type::kFlag:
      if (const auto* flag = node.as_boolean()) return flag->get() ? "1" : "0";
      return std::nullopt;
    case Type::kInteger: return node.is_integer() ? scalar_text(node) : std::nullopt;
    case Type::kNumber:
      if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
      return node.is_integer() ? scalar_text(node) : std::nullopt;
    case Type::kText:
    case Type::kChoice: return node.is_string() ? scalar_text(node) : std::nullopt;
    case Type::kWord: return scalar_text(node);
    case Type::kDuration:
      if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
      return scalar_text(node);
    case Type::kList:
      if (const auto* array = node.as_array()) {
        const auto texts = texts_of(*array, true);
        return texts ? std::optional(base::join(*texts, ",")) : std::nullopt;
      }
      return node.is_string() ? scalar_text(node) : std::nullopt;
    case Type::kFilters:
      if (const auto* array = node.as_array()) {
        // On the command line ",," is a comma, so none can stand at the beginning.
        const auto texts = texts_of(*array, false);
        const auto leading = [](const std::string& text) { return text.starts_with(','); };
        if (!texts || std::ranges::any_of(*texts, leading)) return std::nullopt;
        return filters_text(*texts);
      }
      return std::nullopt;
  }
  return std::nullopt;
}

struct Entry {
  const toml::key* key;
  const toml::node* node;
};

// A table is sorted by key; the first error of the file is the one to show.
std::vector<Entry> in_file_order(const toml::table& table) {
  std::vector<Entry> entries;
  for (const auto& [key, node] : table) entries.push_back({&key, &node});
  std::ranges::sort(entries, {}, [](const Entry& entry) {
    const toml::source_position at = entry.key->source().begin;
    return std::pair(at.line, at.column);
  });
  return entries;
}

// toml++ 3.3 runs into undefined behaviour where one of U+FB26 to U+FEFE (rare Arabic and other
// presentation forms) stands outside a string. Number of the first line that has one.
std::optional<std::size_t> unsafe_line(std::string_view text) {
  for (std::size_t at = text.find('\xEF'); at != std::string_view::npos;
       at = text.find('\xEF', at + 1)) {
    const std::string_view bytes = text.substr(at, 3);
    if (bytes >= "\xEF\xAC\xA6" && bytes <= "\xEF\xBB\xBE") {
      return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, at), '\n'));
    }
  }
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) { config_.path = path; }

  Result<FileConfig> read(const toml::table& table) {
    for (const Entry& entry : in_file_order(table)) {
      RR_TRY(take(std::string(entry.key->str()), entry.key->source().begin, *entry.node));
    }
    if (config_.script || config_.arguments.empty()) return std::move(config_);
    return fail(Errc::kInvalidArgument,
                fmt::format("{}: args needs script: they are the arguments of that script", path_));
  }

 private:
  base::Status take(const std::string& key, toml::source_position at, const toml::node& node) {
    if (key == kScriptKey) return script(at, node);
    if (key == kArgsKey) return arguments(at, node);
    const Option* row = find_by_key(key);
    if (row == nullptr) return unknown(key, at);
    for (const FileValue& earlier : config_.values) {
      if (earlier.id == row->id) return error(at, fmt::format("{} is given twice", key));
    }
    const auto text = text_of(node, row->type);
    if (!text) return wrong_type(key, at, wanted_type(row->type), node);
    if (const auto why = value_error(*row, *text)) {
      return error(at, fmt::format("{}: {}", key, *why));
    }
    config_.values.push_back({row->id, *text, fmt::format("{}:{}: {}", path_, at.line, key)});
    return {};
  }

  base::Status script(toml::source_position at, const toml::node& node) {
    if (!node.is_string()) return wrong_type(kScriptKey, at, "a string", node);
    config_.script = node.as_string()->get();
    return {};
  }

  base::Status arguments(toml::source_position at, const toml::node& node) {
    const auto* array = node.as_array();
    auto texts = array != nullptr ? texts_of(*array, true) : std::nullopt;
    if (!texts) return wrong_type(kArgsKey, at, "an array of strings and integers", node);
    config_.arguments = *std::move(texts);
    return {};
  }

  std::unexpected<base::Error> unknown(const std::string& key, toml::source_position at) const {
    std::vector<std::string> keys{kScriptKey, kArgsKey};
    for (const Option& row : options()) {
      if (row.file) keys.push_back(underscored(row.name));
    }
    return error(at, fmt::format("unknown key '{}'{}; `robustrun --help` lists the options, and "
                                 "their names are the keys",
                                 key, did_you_mean(underscored(key), keys)));
  }

  std::unexpected<base::Error> wrong_type(const std::string& key, toml::source_position at,
                                          const char* wanted, const toml::node& node) const {
    return error(at, fmt::format("{} must be {}, not {}{}", key, wanted, type_name(node.type()),
                                 node.is_array() ? " of such elements" : ""));
  }

  std::unexpected<base::Error> error(toml::source_position at, const std::string& what) const {
    return fail(Errc::kInvalidArgument,
                fmt::format("{}:{}:{}: {}", path_, at.line, at.column, what));
  }

  const std::string& path_;
  FileConfig config_;
};

}  // namespace

Result<FileConfig> parse_config(std::string_view text, const std::string& path) {
  if (const auto line = unsafe_line(text)) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("{}:{}:1: a character from U+FB26 to U+FEFE cannot be read; write it as "
                    "an escape (\\uFB50)",
                    path, *line));
  }
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& error = parsed.error();
    const auto at = error.source().begin;
    return fail(Errc::kInvalidArgument,
                fmt::format("{}:{}:{}: {}", path, at.line, at.column, error.description()));
  }
  return Reader(path).read(parsed.table());
}

}  // namespace robustrun::cli
