#include "cli/text/run_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/core/text.h"
#include "cli/text/amounts.h"

namespace robustrun::cli {
namespace {

constexpr std::size_t kRunColumns = 8;
using RunCells = std::array<std::string, kRunColumns>;

std::string run_state_words(const RunRow& row) {
  if (!row.trouble.empty()) return "unreadable";
  switch (row.life) {
    case RunLife::kLive: return row.state;
    case RunLife::kEnded:
      return row.exit_code.value_or(0) == 0
                 ? "succeeded"
                 : fmt::format("{} ({})", row.was_stopped ? "stopped" : "failed", *row.exit_code);
    case RunLife::kUnattended: return "no supervisor";
  }
  return "";
}

// "2×8", or "20 on 3" of nodes with different numbers of workers.
std::string workers_cell(const RunRow& row) {
  if (row.nodes == 0) return "-";
  if (row.workers % row.nodes != 0) return fmt::format("{} on {}", row.workers, row.nodes);
  return fmt::format("{}×{}", row.nodes, row.workers / row.nodes);
}

RunCells run_cells(const RunRow& row) {
  RunCells cells{base::printable(row.id), run_state_words(row)};
  if (row.starts > 1) cells[1] += fmt::format(", start {}", row.starts);
  if (!row.trouble.empty()) {
    cells[7] = base::printable(row.trouble);
    return cells;
  }
  cells[2] = workers_cell(row);
  cells[3] = age_in_words(row.age / std::chrono::seconds(1));
  cells[4] = row.step ? std::to_string(*row.step) : "-";
  cells[5] = std::to_string(row.incidents);
  cells[6] = bytes_in_words(row.bytes);
  cells[7] = base::printable(row.program.substr(row.program.rfind('/') + 1));
  return cells;
}

// Code points; one counts as one column.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string runs_text(std::span<const RunRow> rows) {
  if (rows.empty()) return "no runs\n";
  std::vector<RunCells> table{
      {"RUN", "STATE", "NODES", "AGE", "STEP", "INCIDENTS", "SIZE", "PROGRAM"}};
  for (const RunRow& row : rows) table.push_back(run_cells(row));
  std::array<std::size_t, kRunColumns> widths{};
  for (const RunCells& cells : table) {
    for (std::size_t i = 0; i < kRunColumns; ++i)
      widths[i] = std::max(widths[i], columns_of(cells[i]));
  }
  std::string text;
  for (const RunCells& cells : table) {
    std::string line;
    for (std::size_t i = 0; i < kRunColumns; ++i) {
      const std::string blanks(widths[i] - columns_of(cells[i]), ' ');
      const bool is_number = i >= 3 && i <= 6;
      line += (i == 0 ? "" : "  ") + (is_number ? blanks + cells[i] : cells[i] + blanks);
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string runs_json(std::span<const RunRow> rows) {
  using base::json_string;
  std::string list;
  for (const RunRow& row : rows) {
    constexpr std::array kLives = {"live", "ended", "unattended"};
    list += fmt::format(
        R"({}{{"run":{},"directory":{},"life":"{}","state":{},"host":{},"exit_code":{},)"
        R"("program":{},"nodes":{},"workers":{},"age_s":{},"step":{},"incidents":{},)"
        R"("bytes":{},"starts":{},"trouble":{}}})",
        list.empty() ? "" : ",", json_string(row.id), json_string(row.directory),
        kLives[static_cast<std::size_t>(row.life)], json_string(row.state), json_string(row.host),
        row.exit_code ? std::to_string(*row.exit_code) : "null", json_string(row.program),
        row.nodes, row.workers, row.age / std::chrono::seconds(1),
        row.step ? std::to_string(*row.step) : "null", row.incidents, row.bytes, row.starts,
        json_string(row.trouble));
  }
  return "{\"runs\":[" + list + "]}\n";
}

}  // namespace robustrun::cli
