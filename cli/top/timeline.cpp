#include "cli/top/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/top/words.h"

namespace robustrun::cli {
namespace {

using base::Nanos;
using supervisor::Spent;
using supervisor::Stretch;

constexpr std::size_t kLabelColumns = 13;
constexpr std::size_t kShareColumns = 22;  // "  2 h 05 min   97.3 %"
constexpr std::size_t kBarColumnsMin = 10;
constexpr std::size_t kTicksApart = 16;

struct Row {
  Spent spent;
  Style style;
};
// In the order of a recovery.
constexpr auto kRows = std::to_array<Row>({{Spent::kStarting, {.ink = Ink::kCyan}},
                                           {Spent::kProductive, {.ink = Ink::kGreen}},
                                           {Spent::kRunning, {.ink = Ink::kGreen}},
                                           {Spent::kStalled, {.ink = Ink::kRed}},
                                           {Spent::kDetecting, {.ink = Ink::kRed}},
                                           {Spent::kLocalizing, {.ink = Ink::kRed}},
                                           {Spent::kRestarting, {.ink = Ink::kYellow}},
                                           {Spent::kRecomputing, {.ink = Ink::kMagenta}},
                                           {Spent::kEnding, {.dim = true}}});

// The run's time in equal parts.
struct Scale {
  Nanos length{};
  std::size_t columns = 0;
  [[nodiscard]] Nanos begin(std::size_t column) const {
    return Nanos(static_cast<std::int64_t>(static_cast<double>(length.count()) *
                                           static_cast<double>(column) /
                                           static_cast<double>(columns)));
  }
  [[nodiscard]] std::size_t column_of(Nanos at) const {
    const double part = static_cast<double>(at.count()) / static_cast<double>(length.count());
    const auto column =
        static_cast<std::size_t>(std::max(0.0, part) * static_cast<double>(columns));
    return std::min(column, columns - 1);
  }
};

std::string bar(const std::vector<Stretch>& timeline, Spent spent, const Scale& scale,
                bool unicode) {
  std::vector<double> share(scale.columns);
  const double width =
      static_cast<double>(scale.length.count()) / static_cast<double>(scale.columns);
  for (const Stretch& stretch : timeline) {
    if (stretch.spent != spent || stretch.to <= stretch.from) continue;
    const std::size_t last = scale.column_of(stretch.to);
    for (std::size_t i = scale.column_of(stretch.from); i <= last; ++i) {
      const Nanos part =
          std::min(stretch.to, scale.begin(i + 1)) - std::max(stretch.from, scale.begin(i));
      share[i] += static_cast<double>(std::max(part, Nanos{}).count()) / width;
    }
  }
  std::string text;
  for (const double each : share) {
    // What is short must still be seen.
    if (each <= 0)
      text += ' ';
    else if (each < 0.5)
      text += unicode ? "▄" : "-";
    else
      text += unicode ? "█" : "#";
  }
  return text;
}

std::string marks(const RunFacts& facts, const Scale& scale) {
  std::string text(scale.columns, ' ');
  for (const IncidentLine& each : facts.incidents) text[scale.column_of(each.at)] = '!';
  return text;
}

std::string ticks(const Scale& scale) {
  std::string text;
  for (std::size_t column = 0; column + kTicksApart / 2 < scale.columns; column += kTicksApart) {
    text.resize(column, ' ');
    text += age_words(scale.begin(column));
  }
  return text;
}

}  // namespace

std::vector<StyledLine> timeline_lines(const RunFacts& facts, std::size_t columns, bool unicode) {
  if (facts.timeline.empty() || facts.timeline.back().to <= Nanos{}) return {};
  const std::size_t taken = kLabelColumns + kShareColumns;
  const Scale scale{facts.timeline.back().to,
                    columns > taken + kBarColumnsMin ? columns - taken : kBarColumnsMin};
  std::vector<StyledLine> lines;
  for (const Row& row : kRows) {
    Nanos sum{};
    for (const Stretch& stretch : facts.timeline) {
      if (stretch.spent == row.spent) sum += stretch.to - stretch.from;
    }
    if (sum == Nanos{}) continue;
    const double percent =
        100 * static_cast<double>(sum.count()) / static_cast<double>(scale.length.count());
    lines.push_back(
        {fmt::format("{:<{}}{}  {:>12} {:>5.1f} %", to_string(row.spent), kLabelColumns,
                     bar(facts.timeline, row.spent, scale, unicode), age_words(sum), percent),
         row.style});
  }
  if (!facts.incidents.empty()) {
    lines.push_back({fmt::format("{:<{}}{}", "incidents", kLabelColumns, marks(facts, scale)),
                     {.ink = Ink::kRed, .bold = true}});
  }
  lines.push_back({std::string(kLabelColumns, ' ') + ticks(scale), {.dim = true}});
  return lines;
}

}  // namespace robustrun::cli
