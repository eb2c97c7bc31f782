#include "cli/options/print_config.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/core/text.h"
#include "cli/options/redact.h"
#include "cli/options/values.h"

namespace robustrun::cli {
namespace {

using Json = nlohmann::ordered_json;

// The value as JSON; scalars and arrays of strings are the same in TOML.
Json typed_value(const Option& row, const Setting& setting) {
  if (!setting.text) return nullptr;
  if (row.secret) return setting.text->empty() ? "" : "***";
  const std::string& text = *setting.text;
  switch (row.type) {
    case Type::kFlag: return text == "1";
    case Type::kInteger: return parse_integer(text).value_or(0);
    case Type::kNumber: return parse_number(text).value_or(0);
    case Type::kFilters: {
      Json list = Json::array();
      for (const std::string& filter : parse_filters(text)) list.push_back(base::printable(filter));
      return list;
    }
    case Type::kText:
    case Type::kWord:
    case Type::kChoice:
    case Type::kDuration:
    case Type::kList: return base::printable(text);
  }
  return nullptr;
}

Json arguments_of(const Settings& settings) {
  Json list = Json::array();
  for (const std::string& argument : redacted(settings.arguments)) {
    list.push_back(base::printable(argument));
  }
  return list;
}

std::string origin_of(const Setting& setting) {
  if (setting.where.empty()) return to_string(setting.origin);
  return fmt::format("{}: {}", to_string(setting.origin), base::printable(setting.where));
}

void append_line(std::string& out, const std::string& assignment, const std::string& origin) {
  out += fmt::format("{:<48} # {}\n", assignment, origin);
}

}  // namespace

std::string config_json(const Settings& settings) {
  Json root;
  root["script"] = settings.script ? Json(base::printable(*settings.script)) : Json(nullptr);
  root["args"] = arguments_of(settings);
  Json& list = root["options"];
  for (const Option& row : options()) {
    if (!row.file) continue;
    const Setting& setting = settings.get(row.id);
    Json& entry = list[underscored(row.name)];
    entry["value"] = typed_value(row, setting);
    entry["origin"] = to_string(setting.origin);
    if (!setting.where.empty()) entry["from"] = base::printable(setting.where);
  }
  return root.dump(2) + "\n";
}

std::string config_toml(const Settings& settings) {
  std::string out =
      "# robustrun's merged configuration; the comment after each value is its origin\n";
  if (settings.script) {
    const std::string origin = to_string(settings.script_origin);
    append_line(out, "script = " + Json(base::printable(*settings.script)).dump(), origin);
    append_line(out, "args = " + arguments_of(settings).dump(), origin);
  }
  for (const Option& row : options()) {
    if (!row.file) continue;
    const Setting& setting = settings.get(row.id);
    const std::string key = underscored(row.name);
    if (setting.text) {
      append_line(out, key + " = " + typed_value(row, setting).dump(), origin_of(setting));
    } else {
      append_line(out, "# " + key, "not set");
    }
  }
  return out;
}

}  // namespace robustrun::cli
