#include "cli/options/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cli/options/config_file.h"
#include "cli/options/redact.h"
#include "cli/options/values.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;

constexpr std::size_t index(OptionId id) { return static_cast<std::size_t>(id); }

// In the environment a flag of torchrun's is bool(int(value)).
Result<std::string> flag_text(const std::string& variable, const std::string& value) {
  const auto number = parse_integer(value);
  if (number) return *number != 0 ? "1" : "0";
  return fail(Errc::kInvalidArgument,
              fmt::format("cannot use {}={}: this variable switches an option on and must be an "
                          "integer; write {}=1, or 0",
                          variable, value, variable));
}

Result<std::optional<Setting>> from_environment(const Option& row, const Surroundings& around) {
  const std::string variable = variable_name(row);
  if (variable.empty()) return std::optional<Setting>();
  auto value = around.variable(variable);
  // For our own options an empty variable counts as unset; torchrun takes its own as they are.
  if (!value || (value->empty() && !row.torchrun)) return std::optional<Setting>();
  if (row.type == Type::kFlag) {
    value = RR_TRY(flag_text(variable, *value));
  } else if (const auto why = value_error(row, *value)) {
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot use {}={}: {}", variable, *value, *why));
  }
  std::string where = fmt::format("{}={}", variable, *value);
  return std::optional(Setting{std::move(value), Origin::kEnvironment, std::move(where)});
}

// Maps Python's names of log levels to ours. nullopt: not a level; LOGLEVEL is a common name.
std::optional<std::string> level_name(std::string value) {
  std::ranges::transform(value, value.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (value == "warning") return "warn";
  if (value == "critical" || value == "fatal") return "error";
  if (value == "notset") return "debug";
  if (value_error(option(OptionId::kLogLevel), value)) return std::nullopt;
  return value;
}

// torchrun's variables that count if the option is not given in any other way.
Result<std::optional<Setting>> from_fallback(const Option& row, const Surroundings& around) {
  if (row.fallback == nullptr) return std::optional<Setting>();
  auto value = around.variable(row.fallback);
  if (!value || value->empty()) return std::optional<Setting>();
  std::string where = fmt::format("{}={}", row.fallback, *value);
  if (row.id == OptionId::kLogLevel) {
    value = level_name(*value);
    if (!value) return std::optional<Setting>();
  } else if (const auto why = value_error(row, *value)) {
    return fail(Errc::kInvalidArgument, fmt::format("cannot use {}: {}", where, *why));
  }
  return std::optional(Setting{std::move(value), Origin::kFallback, std::move(where)});
}

Result<std::optional<FileConfig>> read_config(const RunLine& line, const Surroundings& around) {
  const Option& row = option(OptionId::kConfig);
  std::optional<std::string> path = line.value(OptionId::kConfig);
  if (!path) {
    if (auto setting = RR_TRY(from_environment(row, around))) path = setting->text;
  }
  if (!path) return std::optional<FileConfig>();
  switch (around.machine->kind(*path)) {
    case PathKind::kFile:
    case PathKind::kSocket:  // cannot be read, as below
    case PathKind::kOther: break;  // perhaps a pipe, as from <(command)
    case PathKind::kMissing:
      return fail(Errc::kNotFound, fmt::format("cannot read the configuration {}: No such "
                                               "file or directory; check --config",
                                               *path));
    case PathKind::kDirectory:
    case PathKind::kEmptyDirectory:
      return fail(Errc::kInvalidArgument, fmt::format("cannot read the configuration {}: it is a "
                                                      "directory; --config needs a TOML file",
                                                      *path));
    case PathKind::kUnreadableFile:
      return fail(Errc::kPermission,
                  fmt::format("cannot read the configuration {}: permission denied; check --config",
                              *path));
  }
  const std::string text = RR_TRY(around.machine->read_file(*path));
  return std::optional(RR_TRY(parse_config(text, *path)));
}

Result<Setting> merged(const Option& row, const RunLine& line, const FileConfig* file,
                       const Surroundings& around) {
  if (const auto& value = line.value(row.id)) {
    const bool flag = row.type == Type::kFlag;
    return Setting{value, Origin::kCommandLine,
                   flag ? fmt::format("--{}", row.name) : fmt::format("--{}={}", row.name, *value)};
  }
  if (auto setting = RR_TRY(from_environment(row, around))) return *std::move(setting);
  if (file != nullptr) {
    const auto found = std::ranges::find(file->values, row.id, &FileValue::id);
    if (found != file->values.end()) return Setting{found->text, Origin::kFile, found->where};
  }
  if (auto setting = RR_TRY(from_fallback(row, around))) return *std::move(setting);
  return Setting{};
}

}  // namespace

const char* to_string(Origin origin) {
  switch (origin) {
    case Origin::kDefault: return "default";
    case Origin::kFallback:
    case Origin::kEnvironment: return "environment";
    case Origin::kFile: return "file";
    case Origin::kCommandLine: return "command line";
  }
  return "";
}

const Setting& Settings::get(OptionId id) const { return settings_[index(id)]; }

bool Settings::flag(OptionId id) const { return get(id).text == "1"; }

std::string Settings::text(OptionId id) const { return get(id).text.value_or(""); }

std::optional<std::int64_t> Settings::integer(OptionId id) const {
  return has(id) ? parse_integer(*get(id).text) : std::nullopt;
}

std::optional<base::Nanos> Settings::duration(OptionId id) const {
  return has(id) ? parse_duration(*get(id).text) : std::nullopt;
}

std::string Settings::written(OptionId id) const {
  const Setting& setting = get(id);
  const std::string shown = option(id).secret ? "***" : text(id);
  if (setting.origin == Origin::kFile) return fmt::format("{} = {}", setting.where, shown);
  if (!setting.where.empty()) return setting.where;
  return fmt::format("--{}={}", option(id).name, shown);
}

void Settings::set_default(OptionId id, std::string text, std::string where) {
  if (given(id)) return;
  settings_[index(id)] = Setting{std::move(text), Origin::kFile, std::move(where)};
}

Result<Settings> merge_settings(const RunLine& line, const Surroundings& around) {
  const auto file = RR_TRY(read_config(line, around));
  const FileConfig* const config = file ? &*file : nullptr;
  Settings settings;
  for (const Option& row : options()) {
    Setting& setting = settings.settings_[index(row.id)];
    setting = RR_TRY(merged(row, line, config, around));
    if (row.secret && setting.origin != Origin::kFile) {
      setting.where = redacted_assignment(setting.where);
    }
  }
  Setting& compat = settings.settings_[index(OptionId::kCompat)];
  if (!compat.text && is_name_of_torch(around.program_name)) {
    compat = {"torchrun", Origin::kDefault, ""};
  }
  const bool is_compat = compat.text == "torchrun";
  for (const Option& row : options()) {
    Setting& setting = settings.settings_[index(row.id)];
    if (setting.text) continue;
    const char* standard = is_compat && row.compat != nullptr ? row.compat : row.native;
    if (standard != nullptr) setting.text = standard;
    if (row.type == Type::kFlag) setting.text = "0";
  }
  if (line.script) {
    settings.script = line.script;
    settings.script_origin = Origin::kCommandLine;
    settings.arguments = line.arguments;
  } else if (config != nullptr && config->script) {
    settings.script = config->script;
    settings.script_origin = Origin::kFile;
    settings.arguments = config->arguments;
  }
  if (around.program_name == kLaunchName && !settings.flag(OptionId::kUseEnv)) {
    settings.arguments.insert(settings.arguments.begin(), "--local-rank=${local_rank}");
  }
  return settings;
}

std::unexpected<base::Error> cannot_use(const Settings& settings, OptionId id, base::Errc code,
                                        std::string_view why) {
  return base::fail(code, fmt::format("cannot use {}: {}", settings.written(id), why));
}

std::unexpected<base::Error> cannot_use(const Settings& settings, OptionId id,
                                        std::string_view why) {
  return cannot_use(settings, id, base::Errc::kInvalidArgument, why);
}

}  // namespace robustrun::cli
