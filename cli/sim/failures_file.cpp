#include "cli/sim/failures_file.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <vector>

#include "base/core/text.h"
#include "cli/options/toml_reader.h"
#include "cli/options/toml_tree.h"
#include "cli/options/values.h"

namespace robustrun::cli {
namespace {

using base::Result;
using base::Status;
using simulator::FailureModel;
using simulator::FaultKind;
using simulator::Figure;
using simulator::kKinds;

constexpr double kRateMax = 100;  // failures of a machine in a day
constexpr double kSlowFactorMax = 1000;
constexpr double kNeighboursMax = 10'000;

class FailuresReader : TomlReader {
 public:
  explicit FailuresReader(const std::string& path) : TomlReader(path) {
    model_.name = path;
    model_.about = "failures of " + path;
  }

  Result<FailureModel> read(const TomlValue& file) {
    for (const TomlEntry& entry : file.entries) RR_TRY(take(entry));
    if (model_.per_node_day.origin != simulator::Origin::kGiven) {
      return error({1, 1}, "rate_per_node_day is missing: the failures per machine and day");
    }
    return std::move(model_);
  }

 private:
  Status take(const TomlEntry& entry) {
    const std::string& key = entry.key;
    if (key == "mix") return mix(entry);
    if (key == "co_events") return co_events(entry);
    if (key == "source") return source(entry);
    if (key == "rate_per_node_day") return number(entry, 0, kRateMax, model_.per_node_day);
    if (key == "hang_stays") return number(entry, 0, 1, model_.hang_stays);
    if (key == "slow_factor") return number(entry, 1, kSlowFactorMax, model_.slow_factor);
    if (key == "repair") return time(entry, model_.repair);
    if (key == "maintained") return time(entry, model_.maintained);
    if (key == "slow_for") return time(entry, model_.slow_for);
    return unknown(entry, {"rate_per_node_day", "mix", "co_events", "repair", "maintained",
                           "hang_stays", "slow_for", "slow_factor", "source"});
  }

  Status source(const TomlEntry& entry) {
    if (entry.value.type != TomlValue::Type::kString) return wrong_type(entry, "a string");
    model_.about = base::printable(entry.value.text);
    return {};
  }

  Status mix(const TomlEntry& table) {
    if (table.value.type != TomlValue::Type::kTable) return wrong_type(table, "a table: [mix]");
    model_.mix = {{}, simulator::Origin::kGiven, path()};
    double sum = 0;
    for (const TomlEntry& entry : table.value.entries) {
      std::vector<std::string> kinds;
      std::optional<std::size_t> kind;
      for (std::size_t i = 0; i < kKinds; ++i) {
        kinds.emplace_back(kind_name(static_cast<FaultKind>(i)));
        if (kinds.back() == entry.key) kind = i;
      }
      if (!kind) return unknown(entry, kinds);
      Figure<double> weight;
      RR_TRY(number(entry, 0, 1e9, weight));
      sum += model_.mix.value[*kind] = weight.value;
    }
    if (sum <= 0) return error(table.at, "[mix] has no kind above 0");
    return {};
  }

  Status co_events(const TomlEntry& table) {
    if (table.value.type != TomlValue::Type::kTable)
      return wrong_type(table, "a table: [co_events]");
    for (const TomlEntry& entry : table.value.entries) {
      if (entry.key == "share") {
        RR_TRY(number(entry, 0, 1, model_.shared));
      } else if (entry.key == "machines") {
        Figure<double> machines;
        RR_TRY(number(entry, 1, kNeighboursMax, machines));
        if (std::floor(machines.value) != machines.value)
          return wrong_type(entry, "a whole number");
        model_.neighbours = {static_cast<std::uint32_t>(machines.value), simulator::Origin::kGiven,
                             path()};
      } else {
        return unknown(entry, {"share", "machines"});
      }
    }
    return {};
  }

  Status number(const TomlEntry& entry, double least, double most, Figure<double>& out) const {
    const TomlValue& value = entry.value;
    const bool whole = value.type == TomlValue::Type::kInteger;
    const double read = whole ? static_cast<double>(value.integer) : value.number;
    const bool typed = whole || value.type == TomlValue::Type::kNumber;
    if (!typed || !(read >= least && read <= most)) {
      return wrong_type(entry, fmt::format("a number from {} to {}", least, most));
    }
    out = {read, simulator::Origin::kGiven, path()};
    return {};
  }

  Status time(const TomlEntry& entry, Figure<base::Nanos>& out) const {
    const auto text = scalar_text(entry.value);
    const auto parsed = text ? parse_duration(*text) : std::nullopt;
    if (!parsed || *parsed <= base::Nanos{}) return wrong_type(entry, "a time such as \"24h\"");
    out = {*parsed, simulator::Origin::kGiven, path()};
    return {};
  }

  FailureModel model_ = simulator::unknown_site();
};

}  // namespace

Result<FailureModel> parse_failures(std::string_view text, const std::string& path) {
  const TomlValue file = RR_TRY(parse_toml(text, path));
  return FailuresReader(path).read(file);
}

}  // namespace robustrun::cli
