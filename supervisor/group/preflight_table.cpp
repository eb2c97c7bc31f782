#include "supervisor/group/preflight_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/core/text.h"

namespace robustrun::supervisor {
namespace {

constexpr std::size_t kColumns = 9;
using Row = std::array<std::string, kColumns>;

const char* word_of(Fitness level) {
  switch (level) {
    case Fitness::kFit: return "ok";
    case Fitness::kWarned: return "warning";
    case Fitness::kSlow: return "slow";
    case Fitness::kUnfit: return "unfit";
  }
  return "?";
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : base::printable(text); }

std::string in_gib(const base::Space& space) {
  if (!space.error.empty()) return "?";
  constexpr double kGibi = 1U << 30;
  return fmt::format("{:.1f} GiB", static_cast<double>(space.free) / kGibi);
}

std::string clock_in_words(const NodeCheck& node) {
  return fmt::format("{:+.3f} s", std::chrono::duration<double>(node.clock_ahead).count());
}

Row row_of(const std::string& name, const NodeVerdict& verdict, const NodeCheck* node) {
  Row row{base::printable(name), word_of(verdict.level), "-", "-", "-", "-", "-", "-", "-"};
  if (node == nullptr || !node->answered) return row;
  const base::NodeFacts& facts = node->facts;
  row[2] = or_dash(facts.software.python);
  row[3] = or_dash(facts.software.torch);
  row[4] = facts.gpus.error.empty() ? std::to_string(facts.gpus.count) : "?";
  row[5] = or_dash(facts.gpus.driver);
  row[6] = in_gib(facts.disk);
  row[7] = in_gib(facts.shm);
  row[8] = clock_in_words(*node);
  return row;
}

// A line for each GPU that was tested: "gpu 0 (NVIDIA H200): memory copy 4100 GB/s, …"
std::string gpu_lines(const base::GpuFacts& probe) {
  std::string text;
  for (std::size_t gpu = 0; gpu < probe.models.size(); ++gpu) {
    std::string figures;
    for (const base::GpuFigure& figure : probe.figures) {
      if (figure.gpu != gpu) continue;
      figures +=
          fmt::format("{}{} {:.4g} {}", figures.empty() ? ": " : ", ", base::printable(figure.what),
                      figure.value, base::printable(figure.unit));
    }
    text += fmt::format("    gpu {} ({}){}\n", gpu, base::printable(probe.models[gpu]), figures);
  }
  return text;
}

std::string line_of(const Row& row, const std::array<std::size_t, kColumns>& widths) {
  std::string line;
  for (std::size_t i = 0; i < kColumns; ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
  while (line.ends_with(' ')) line.pop_back();
  return line + "\n";
}

}  // namespace

std::string preflight_table(const std::vector<std::string>& names, const NodesChecked& checked,
                            const std::vector<NodeVerdict>& verdicts) {
  std::vector<const NodeCheck*> nodes;
  std::vector<Row> rows{
      {"NODE", "VERDICT", "PYTHON", "TORCH", "GPUS", "DRIVER", "DISK", "SHM", "CLOCK"}};
  for (const NodeVerdict& verdict : verdicts) {
    const auto found = std::ranges::find(checked.nodes, verdict.node, &NodeCheck::node);
    const std::string name =
        verdict.node.value < names.size() ? names[verdict.node.value] : std::string("?");
    nodes.push_back(found == checked.nodes.end() ? nullptr : &*found);
    rows.push_back(row_of(name, verdict, nodes.back()));
  }
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text = line_of(rows.front(), widths);
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    text += line_of(rows[i + 1], widths);
    for (const Finding& finding : verdicts[i].findings) {
      text += fmt::format("    {}: {}\n", word_of(finding.level), finding.words);
    }
    if (nodes[i] != nullptr && nodes[i]->answered) text += gpu_lines(nodes[i]->facts.probe);
  }
  return text;
}

}  // namespace robustrun::supervisor
