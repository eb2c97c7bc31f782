#include "cli/options/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/core/text.h"
#include "cli/options/limits.h"

namespace robustrun::cli {
namespace {

std::string out_of_range(const Option& row, std::string_view text) {
  const bool upper = row.max != std::numeric_limits<std::int64_t>::max();
  if (upper) return fmt::format("must be between {} and {}: '{}'", row.min, row.max, text);
  return fmt::format("must be at least {}: '{}'", row.min, text);
}

std::optional<std::string> choice_error(const Option& row, std::string_view text) {
  const auto choices = base::split(row.values, '|');
  if (std::ranges::find(choices, text) != choices.end()) return std::nullopt;
  return fmt::format("invalid choice: '{}' (choose from '{}')", text, fmt::join(choices, "', '"));
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  text = base::trim(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  text = base::trim(text);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<base::Nanos> parse_duration(std::string_view text) {
  text = base::trim(text);
  struct Unit {
    std::string_view suffix;
    double seconds;
  };
  static constexpr std::array<Unit, 5> kUnits{
      {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}}};
  double unit = 1;
  for (const Unit& one : kUnits) {
    if (!text.ends_with(one.suffix)) continue;
    unit = one.seconds;
    text.remove_suffix(one.suffix.size());
    break;
  }
  const auto number = parse_number(text);
  if (!number || std::signbit(*number)) return std::nullopt;
  const double seconds = *number * unit;
  if (seconds > static_cast<double>(kDurationSecondsMax)) return std::nullopt;
  return std::chrono::duration_cast<base::Nanos>(std::chrono::duration<double>(seconds));
}

std::vector<std::string> parse_filters(std::string_view text) {
  std::vector<std::string> filters;
  std::string filter;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool comma = text[i] == ',';
    if (comma && i + 1 < text.size() && text[i + 1] == ',') {
      filter += ',';
      ++i;
    } else if (comma) {
      filters.push_back(std::exchange(filter, {}));
    } else {
      filter += text[i];
    }
  }
  filters.push_back(std::move(filter));
  std::erase(filters, "");  // an empty text would match every line
  return filters;
}

std::string filters_text(std::span<const std::string> filters) {
  std::vector<std::string> escaped;
  for (const std::string& filter : filters) {
    escaped.push_back(fmt::format("{}", fmt::join(base::split(filter, ','), ",,")));
  }
  return base::join(escaped, ",");
}

std::optional<std::string> value_error(const Option& row, std::string_view text) {
  switch (row.type) {
    case Type::kInteger: {
      const auto value = parse_integer(text);
      if (!value) return fmt::format("invalid int value: '{}'", text);
      if (*value < row.min || *value > row.max) return out_of_range(row, text);
      return std::nullopt;
    }
    case Type::kNumber: {
      const auto value = parse_number(text);
      if (!value) return fmt::format("invalid float value: '{}'", text);
      if (*value < static_cast<double>(row.min)) return out_of_range(row, text);
      return std::nullopt;
    }
    case Type::kDuration: {
      const auto value = parse_duration(text);
      if (!value) {
        return fmt::format(
            "invalid time: '{}' (write seconds, or 200ms, 90s, 15m, 2h; not negative)", text);
      }
      if (*value < std::chrono::seconds(row.min)) return out_of_range(row, text);
      return std::nullopt;
    }
    case Type::kChoice: return choice_error(row, text);
    case Type::kFlag:
    case Type::kText:
    case Type::kWord:
    case Type::kList:
    case Type::kFilters: return std::nullopt;
  }
  return std::nullopt;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  std::string guess = base::nearest(word, candidates);
  if (guess.empty()) {
    // "--nprc" is no misspelling of a whole name, but of the beginning of one.
    std::vector<std::string> beginnings;
    for (const std::string& candidate : candidates) {
      beginnings.push_back(candidate.substr(0, word.size() + 1));
    }
    const std::string beginning = base::nearest(word, beginnings);
    const auto found = std::ranges::find(beginnings, beginning);
    if (!beginning.empty())
      guess = candidates[static_cast<std::size_t>(found - beginnings.begin())];
  }
  return guess.empty() ? "" : fmt::format(" (did you mean {}?)", guess);
}

std::string shell_quoted(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./:,@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'')
      quoted += R"('\'')";
    else
      quoted += c;
  }
  return quoted + "'";
}

}  // namespace robustrun::cli
