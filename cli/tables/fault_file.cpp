#include "cli/tables/fault_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <span>

#include "base/core/exit_status.h"
#include "base/core/text.h"
#include "cli/options/limits.h"
#include "cli/options/toml_reader.h"
#include "cli/options/toml_tree.h"
#include "cli/options/values.h"

namespace robustrun::cli {
namespace {

using base::Result;
using base::Status;
using supervisor::FaultRow;
using TomlType = TomlValue::Type;
using Words = std::vector<std::string>;

constexpr supervisor::Layer kLayers[] = {
    supervisor::Layer::kInfrastructure, supervisor::Layer::kUserCode, supervisor::Layer::kData,
    supervisor::Layer::kExternalService, supervisor::Layer::kUnclear};
constexpr supervisor::Confidence kConfidences[] = {
    supervisor::Confidence::kHigh, supervisor::Confidence::kMedium, supervisor::Confidence::kLow};
constexpr supervisor::FirstAction kActions[] = {
    supervisor::FirstAction::kEvict,    supervisor::FirstAction::kRestart,
    supervisor::FirstAction::kRollBack, supervisor::FirstAction::kCheck,
    supervisor::FirstAction::kTolerate, supervisor::FirstAction::kGiveUp,
    supervisor::FirstAction::kReplay};

// Findings of the core itself (supervisor/core/fault/fault_class.h, classify_finding).
constexpr std::string_view kFindings[] = {"hang",   "returning hang", "mismatch",
                                          "slow",   "jump",           "not a number",
                                          "slower", "ended early",    "crash at exit"};

class FaultReader : TomlReader {
 public:
  explicit FaultReader(const std::string& path) : TomlReader(path) {}

  Result<std::vector<FaultRow>> read(const TomlValue& file) {
    for (const TomlEntry& entry : file.entries) {
      if (entry.key != "fault") return unknown(entry, {"fault"});
      if (entry.value.type != TomlType::kArray) return wrong_type(entry, "tables: [[fault]]");
      for (const TomlValue& table : entry.value.items) {
        if (table.type != TomlType::kTable) return wrong_type(entry, "tables: [[fault]]");
        RR_TRY(take(table));
      }
    }
    return std::move(rows_);
  }

 private:
  Status take(const TomlValue& table) {
    FaultRow row;
    for (const TomlEntry& entry : table.entries) RR_TRY(take(entry, row));
    if (row.name.empty()) return error(table.at, "a fault needs a name: name = \"disk is full\"");
    if (row.exceptions.empty() && row.texts.empty() && row.xids.empty() && row.exits.empty() &&
        row.signals.empty() && !row.out_of_memory && row.found.empty()) {
      return error(table.at,
                   fmt::format("'{}' matches nothing: it needs a text, exception, xid, exit, "
                               "signal, oom or found",
                               base::printable(row.name)));
    }
    if (row.symptom.empty()) row.symptom = row.name;
    if (!names_.insert(row.name).second) {
      return error(table.at, fmt::format("the name '{}' is used twice; rename one of them",
                                         base::printable(row.name)));
    }
    if (rows_.size() == kFaultRowsMax) {
      return error(table.at, fmt::format("more than {} faults", kFaultRowsMax));
    }
    rows_.push_back(std::move(row));
    return {};
  }

  Status take(const TomlEntry& entry, FaultRow& row) {
    if (entry.key == "name") return text(entry, row.name);
    if (entry.key == "symptom") return text(entry, row.symptom);
    if (entry.key == "advice") return text(entry, row.advice);
    if (entry.key == "exception") return patterns(entry, row.exceptions);
    if (entry.key == "text") return patterns(entry, row.texts);
    if (entry.key == "found") return found(entry, row.found);
    if (entry.key == "xid") return numbers(entry, 1, kXidMax, row.xids);
    if (entry.key == "exit") return numbers(entry, 1, 255, row.exits);
    if (entry.key == "signal") return signals(entry, row.signals);
    if (entry.key == "oom") return flag(entry, row.out_of_memory);
    if (entry.key == "sequel") return flag(entry, row.sequel);
    if (entry.key == "layer") return word(entry, kLayers, row.layer);
    if (entry.key == "confidence") return word(entry, kConfidences, row.confidence);
    if (entry.key == "action") return word(entry, kActions, row.action);
    return unknown(entry, {"name", "symptom", "exception", "text", "xid", "exit", "signal", "oom",
                           "found", "layer", "confidence", "action", "sequel", "advice"});
  }

  Status text(const TomlEntry& entry, std::string& out) const {
    const TomlValue& value = entry.value;
    if (value.type != TomlType::kString || value.text.empty() ||
        value.text.size() > kFaultTextBytesMax) {
      return wrong_type(entry, fmt::format("a string of 1 to {} bytes", kFaultTextBytesMax));
    }
    out = value.text;
    return {};
  }

  // A single value, or the elements of an array.
  static std::span<const TomlValue> each(const TomlEntry& entry) {
    if (entry.value.type == TomlType::kArray) return entry.value.items;
    return {&entry.value, 1};
  }

  Status patterns(const TomlEntry& entry, Words& out) {
    for (const TomlValue& value : each(entry)) {
      RR_TRY(text({entry.key, value.at, value}, out.emplace_back()));
      if (out.back().find_first_not_of('*') == std::string::npos && entry.key == "text") {
        return error(value.at, "a text of stars alone would match every line");
      }
      if (++patterns_ > kFaultPatternsMax) {
        return error(value.at, fmt::format("more than {} texts and exceptions", kFaultPatternsMax));
      }
    }
    return {};
  }

  Status found(const TomlEntry& entry, Words& out) const {
    for (const TomlValue& value : each(entry)) {
      const bool known = value.type == TomlType::kString &&
                         std::ranges::find(kFindings, value.text) != std::end(kFindings);
      if (!known) return wrong_type(entry, fmt::format("one of {}", fmt::join(kFindings, ", ")));
      out.push_back(value.text);
    }
    return {};
  }

  template <class Number>
  Status numbers(const TomlEntry& entry, std::int64_t least, std::int64_t most,
                 std::vector<Number>& out) const {
    for (const TomlValue& value : each(entry)) {
      if (value.type != TomlType::kInteger || value.integer < least || value.integer > most ||
          out.size() == kFaultNumbersMax) {
        return wrong_type(entry, fmt::format("a number from {} to {}, or an array of at most {}",
                                             least, most, kFaultNumbersMax));
      }
      out.push_back(static_cast<Number>(value.integer));
    }
    return {};
  }

  Status signals(const TomlEntry& entry, std::vector<std::int32_t>& out) const {
    for (const TomlValue& value : each(entry)) {
      const auto name = scalar_text(value);
      const int number = name ? base::signal_number(*name) : 0;
      if (number == 0 || out.size() == kFaultNumbersMax) {
        return wrong_type(entry, "a signal such as \"SIGKILL\", or an array of them");
      }
      out.push_back(number);
    }
    return {};
  }

  Status flag(const TomlEntry& entry, bool& out) const {
    if (entry.value.type != TomlType::kBoolean) return wrong_type(entry, "true or false");
    out = entry.value.flag;
    return {};
  }

  template <class Choice, std::size_t kCount>
  Status word(const TomlEntry& entry, const Choice (&choices)[kCount], Choice& out) const {
    Words words;
    for (const Choice choice : choices) {
      if (entry.value.type == TomlType::kString && entry.value.text == to_string(choice)) {
        out = choice;
        return {};
      }
      words.emplace_back(to_string(choice));
    }
    return wrong_type(entry, "one of " + base::join(words, ", "));
  }

  std::vector<FaultRow> rows_;
  std::set<std::string> names_;
  std::size_t patterns_ = 0;
};

Result<std::vector<FaultRow>> shipped_rows(const Surroundings& around) {
  const std::filesystem::path bin = std::filesystem::path(around.executable).parent_path();
  const std::string path = (bin.parent_path() / "share/robustrun/faults.toml").string();
  if (around.machine->kind(path) == PathKind::kMissing) {
    return parse_faults(built_in_faults(), "faults.toml");
  }
  const std::string text = RR_TRY(around.machine->read_file(path));
  return parse_faults(text, path);
}

}  // namespace

Result<std::vector<FaultRow>> parse_faults(std::string_view text, const std::string& path) {
  const TomlValue file = RR_TRY(parse_toml(text, path));
  return FaultReader(path).read(file);
}

Result<std::vector<FaultRow>> plan_faults(const Settings& settings, const Surroundings& around) {
  std::vector<FaultRow> rows;
  if (settings.has(OptionId::kFaults)) {
    const std::string path = settings.text(OptionId::kFaults);
    const std::string text = RR_TRY(around.machine->read_file(path));
    rows = RR_TRY(parse_faults(text, path));
  }
  const std::size_t own = rows.size();
  for (FaultRow& row : RR_TRY(shipped_rows(around))) {
    const auto end = rows.begin() + static_cast<std::ptrdiff_t>(own);
    if (std::find_if(rows.begin(), end,
                     [&](const FaultRow& one) { return one.name == row.name; }) == end) {
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace robustrun::cli
