#include "cli/doctor/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/core/text.h"
#include "base/core/words.h"
#include "base/core/wrap.h"
#include "cli/options/limits.h"

namespace robustrun::cli {
namespace {

constexpr std::string_view kArrow = "-> ";
constexpr std::string_view kNoColour = "\x1b[0m";
constexpr std::string_view kDim = "\x1b[2m";

std::string_view colour_of(CheckState state) {
  switch (state) {
    case CheckState::kOk: return "\x1b[32m";
    case CheckState::kWarn: return "\x1b[33m";
    case CheckState::kBad: return "\x1b[31m";
    case CheckState::kAbsent: return kDim;
  }
  return "";
}

std::string check_line(const Check& check, std::size_t columns, bool colour) {
  const std::string out = fmt::format("{}  {:18}", state_column(check.state, colour), check.name) +
                          base::wrap_indented(check.found, columns, kCheckTextColumn) + "\n";
  return out + advice_lines(check, columns);
}

std::string summary_line(std::span<const Check> checks) {
  const std::size_t bad = count_of(checks, CheckState::kBad);
  const std::size_t warnings = count_of(checks, CheckState::kWarn);
  const std::string rest =
      warnings == 0 ? "" : fmt::format("; {}", base::counted(warnings, "warning"));
  return fmt::format("{}{}\n", bad == 0 ? "nothing is bad" : fmt::format("bad: {}", bad), rest);
}

}  // namespace

std::string titled_list(std::string_view title, const std::vector<std::string>& names,
                        std::size_t columns) {
  return std::string(title) + base::wrap_indented(base::join(names, ", "), columns, title.size()) +
         "\n";
}

std::string advice_lines(const Check& check, std::size_t columns) {
  if (check.advice.empty()) return "";
  const std::size_t behind_arrow = kCheckTextColumn + kArrow.size();
  return std::string(kCheckTextColumn, ' ') + std::string(kArrow) +
         base::wrap_indented(check.advice, columns, behind_arrow) + "\n";
}

std::string state_column(CheckState state, bool colour) {
  const std::string word = fmt::format("{:4}", to_string(state));
  return colour ? fmt::format("{}{}{}", colour_of(state), word, kNoColour) : word;
}

std::size_t count_of(std::span<const Check> checks, CheckState state) {
  return static_cast<std::size_t>(std::ranges::count(checks, state, &Check::state));
}

std::string doctor_text(std::span<const Check> checks, int columns, bool colour) {
  const auto width =
      static_cast<std::size_t>(std::clamp(columns, kHelpColumnsMin, kHelpColumnsMax));
  std::string out;
  std::vector<std::string> absent;
  for (const Check& check : checks) {
    if (check.state == CheckState::kAbsent) {
      absent.push_back(check.name);
    } else {
      out += check_line(check, width, colour);
    }
  }
  if (!absent.empty()) {
    std::string line = titled_list("not here: ", absent, width);
    if (colour) line = fmt::format("{}{}{}", kDim, line, kNoColour);
    out += line;
  }
  return out + summary_line(checks);
}

std::string doctor_json(std::string_view host, std::span<const Check> checks) {
  std::string list;
  for (const Check& check : checks) {
    list +=
        fmt::format(R"({}{{"name":{},"state":"{}","found":{},"advice":{}}})",
                    list.empty() ? "" : ",", base::json_string(check.name), to_string(check.state),
                    base::json_string(check.found), base::json_string(check.advice));
  }
  return fmt::format("{{\"host\":{},\"bad\":{},\"warn\":{},\"checks\":[{}]}}\n",
                     base::json_string(host), count_of(checks, CheckState::kBad),
                     count_of(checks, CheckState::kWarn), list);
}

}  // namespace robustrun::cli
