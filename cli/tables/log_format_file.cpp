#include "cli/tables/log_format_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "agent/output/line_metrics.h"
#include "base/core/text.h"
#include "cli/options/limits.h"
#include "cli/options/toml_reader.h"
#include "cli/options/toml_tree.h"

namespace robustrun::cli {
namespace {

using base::Result;
using base::Status;
using TomlType = TomlValue::Type;
using wire::LineFormat;

// A key of a row, and what its number means.
struct Meaning {
  const char* key;
  const char* name;  // of the metric
  double factor = 1;
  bool inverse = false;
};

constexpr Meaning kMeanings[] = {
    {"step", "step"},
    {"steps_total", "steps_total"},
    {"loss", "loss"},
    {"grad_norm", "grad_norm"},
    {"tokens_per_s", "tokens_per_s"},
    {"tokens_per_s_per_gpu", "tokens_per_s_per_gpu"},
    {"mfu", "mfu"},
    {"mfu_percent", "mfu", 0.01},
    {"step_time_s", "step_time"},
    {"step_time_ms", "step_time", 0.001},
    {"steps_per_s", "step_time", 1, true},
};

class FormatReader : TomlReader {
 public:
  explicit FormatReader(const std::string& path) : TomlReader(path) {}

  Result<std::vector<LineFormat>> read(const TomlValue& file) {
    for (const TomlEntry& entry : file.entries) {
      if (entry.key != "format") return unknown(entry, {"format"});
      if (entry.value.type != TomlType::kArray) return wrong_type(entry, "tables: [[format]]");
      for (const TomlValue& table : entry.value.items) {
        if (table.type != TomlType::kTable) return wrong_type(entry, "tables: [[format]]");
        RR_TRY(take(table));
      }
    }
    return std::move(formats_);
  }

 private:
  Status take(const TomlValue& table) {
    LineFormat format;
    for (const TomlEntry& entry : table.entries) RR_TRY(take(entry, format));
    if (format.project.empty()) {
      return error(table.at, "a format needs a project: project = \"our trainer\"");
    }
    if (format.lines.empty() || format.values.empty()) {
      return error(table.at, fmt::format("'{}' matches nothing: it needs a line, and a value such "
                                         "as loss = \"loss: {{value}}\"",
                                         base::printable(format.project)));
    }
    if (std::ranges::find(formats_, format.project, &LineFormat::project) != formats_.end()) {
      return error(table.at, fmt::format("the project '{}' is named twice; rename one of them",
                                         base::printable(format.project)));
    }
    if (formats_.size() == kLogFormatsMax) {
      return error(table.at, fmt::format("more than {} formats", kLogFormatsMax));
    }
    formats_.push_back(std::move(format));
    return {};
  }

  Status take(const TomlEntry& entry, LineFormat& format) {
    if (entry.key == "project") return text(entry, format.project);
    if (entry.key == "line") return lines(entry, format);
    for (const Meaning& meaning : kMeanings) {
      if (entry.key == meaning.key) return values(entry, meaning, format);
    }
    std::vector<std::string> keys = {"project", "line"};
    for (const Meaning& meaning : kMeanings) keys.emplace_back(meaning.key);
    return unknown(entry, keys);
  }

  Status text(const TomlEntry& entry, std::string& out) const {
    const TomlValue& value = entry.value;
    if (value.type != TomlType::kString || value.text.empty() ||
        value.text.size() > kLogFormatTextBytesMax) {
      return wrong_type(entry, fmt::format("a string of 1 to {} bytes", kLogFormatTextBytesMax));
    }
    out = value.text;
    return {};
  }

  // The texts of an entry: one, or several in an array.
  Result<std::vector<std::string>> texts(const TomlEntry& entry) const {
    std::span<const TomlValue> values(&entry.value, 1);
    if (entry.value.type == TomlType::kArray) values = entry.value.items;
    if (values.size() > kLogFormatTextsMax) {
      return error(entry.value.at, fmt::format("more than {} texts", kLogFormatTextsMax));
    }
    std::vector<std::string> all;
    for (const TomlValue& value : values) {
      RR_TRY(text({entry.key, value.at, value}, all.emplace_back()));
    }
    return all;
  }

  Status lines(const TomlEntry& entry, LineFormat& format) const {
    format.lines = RR_TRY(texts(entry));
    for (const std::string& line : format.lines) {
      if (const auto pieces = agent::parse_line_text(line); !pieces) {
        return error(entry.value.at, "line: " + pieces.error().what);
      }
    }
    return {};
  }

  Status values(const TomlEntry& entry, const Meaning& meaning, LineFormat& format) const {
    for (std::string& each : RR_TRY(texts(entry))) {
      const auto pattern = agent::parse_line_pattern(fmt::format("{}={}", meaning.name, each));
      if (!pattern) {
        return error(entry.value.at, fmt::format("{}: {}", entry.key, pattern.error().what));
      }
      format.values.push_back({meaning.name, std::move(each), meaning.factor, meaning.inverse});
    }
    return {};
  }

  std::vector<LineFormat> formats_;
};

Result<std::vector<LineFormat>> shipped_formats(const Surroundings& around) {
  const std::filesystem::path bin = std::filesystem::path(around.executable).parent_path();
  const std::string path = (bin.parent_path() / "share/robustrun/log_formats.toml").string();
  if (around.machine->kind(path) == PathKind::kMissing) {
    return parse_log_formats(built_in_log_formats(), "log_formats.toml");
  }
  const std::string text = RR_TRY(around.machine->read_file(path));
  return parse_log_formats(text, path);
}

}  // namespace

Result<std::vector<LineFormat>> parse_log_formats(std::string_view text, const std::string& path) {
  const TomlValue file = RR_TRY(parse_toml(text, path));
  return FormatReader(path).read(file);
}

Result<std::vector<LineFormat>> plan_log_formats(const Settings& settings,
                                                 const Surroundings& around) {
  std::vector<LineFormat> formats;
  if (settings.has(OptionId::kLogFormats)) {
    const std::string path = settings.text(OptionId::kLogFormats);
    const std::string text = RR_TRY(around.machine->read_file(path));
    formats = RR_TRY(parse_log_formats(text, path));
  }
  std::vector<LineFormat> shipped = RR_TRY(shipped_formats(around));
  std::erase_if(shipped, [&](const LineFormat& one) {
    return std::ranges::find(formats, one.project, &LineFormat::project) != formats.end();
  });
  std::ranges::move(shipped, std::back_inserter(formats));
  return formats;
}

}  // namespace robustrun::cli
