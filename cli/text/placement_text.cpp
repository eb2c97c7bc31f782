#include "cli/text/placement_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/core/name_ranges.h"
#include "base/core/text.h"
#include "base/core/words.h"
#include "cli/plan/placement_gain.h"
#include "cli/text/placement_words.h"
#include "topo/network/step_time.h"
#include "topo/picture/svg.h"
#include "topo/picture/text.h"
#include "topo/spares/spare_count.h"

namespace robustrun::cli {
namespace {

constexpr std::size_t kTableRowsMax = 32;
constexpr std::size_t kTableSwitchesMax = 40;

struct Row {
  std::string what;
  std::vector<std::string> cells;
};

std::string table_of(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().cells.size(), 0);
  std::size_t names = 0;
  for (const Row& row : rows) {
    names = std::max(names, row.what.size());
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], row.cells[i].size());
    }
  }
  std::string out;
  for (const Row& row : rows) {
    std::string line = fmt::format("{:<{}}", row.what, names);
    for (std::size_t i = 0; i < widths.size(); ++i) {
      line += fmt::format("  {:>{}}", row.cells[i], widths[i]);
    }
    out += line + "\n";
  }
  return out;
}

// "2 (mean 1.3)"
std::string spread_cell(const topo::Placement& placement, const topo::Spread& which) {
  for (const topo::Spread& spread : placement.score.spreads) {
    if (spread.kind != which.kind || spread.level != which.level) continue;
    const double mean = static_cast<double>(spread.sum) / spread.groups;
    return spread.worst == 0 ? "0" : fmt::format("{} (mean {:.3g})", spread.worst, mean);
  }
  return "0";
}

std::string comparison(const PlacementPlan& plan) {
  std::vector<Row> rows = {
      {"switches touched, widest group", {"placed", "natural order", "lexicographic"}}};
  for (const topo::Spread& spread : plan.placement.score.spreads) {
    const topo::Level& level = plan.cluster.levels[spread.level];
    if (!has_choice(level)) continue;
    rows.push_back({fmt::format("  {} groups, {}", to_string(spread.kind), level.name),
                    {spread_cell(plan.placement, spread), spread_cell(plan.natural, spread),
                     spread_cell(plan.lexicographic, spread)}});
  }
  const auto cost = [](const topo::Placement& placement) {
    return units(placement.score.cost.worst);
  };
  rows.push_back({fmt::format("  weighted (bound: {})", units(plan.placement.bound.worst)),
                  {cost(plan.placement), cost(plan.natural), cost(plan.lexicographic)}});
  if (const NetworkSeconds seconds = network_seconds(plan); seconds.known()) {
    const auto cell = [](double value) { return fmt::format("{:.3g} s", value); };
    rows.push_back({"network time of a step",
                    {cell(seconds.ours), cell(seconds.natural), cell(seconds.lexicographic)}});
  }
  return table_of(rows);
}

std::string gain_text(const PlacementPlan& plan) {
  const auto gain = gain_percent(network_seconds(plan));
  if (!gain) {
    return "Gain:      unknown; needs --traffic or --model, and a bandwidth for each level\n";
  }
  if (*gain < 0) {
    return "Gain:      none: by bandwidths and traffic natural order is faster; change the weight\n"
           "           of dp with --affinity, or keep natural order with --topology=off\n";
  }
  return fmt::format(
      "Gain:      {:.1f} % of a step against natural order, by bandwidths and traffic, if\n"
      "           communication takes {:g} % of a step\n",
      *gain, 100 * topo::kCommunicationShare);
}

std::string range_text(std::uint64_t first, std::uint64_t last) {
  return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
}

std::string clipped(std::string text, std::size_t columns) {
  constexpr std::string_view kMore = "...";
  if (text.size() > columns && columns > kMore.size()) {
    text.resize(columns - kMore.size());
    text += kMore;
  }
  return text;
}

// Nodes without ranks: "Spares:    n9,n[12-13]".
std::string others_text(const PlacementPlan& plan, std::string_view title,
                        const std::vector<topo::NodeIndex>& nodes, std::size_t columns) {
  if (nodes.empty()) return "";
  std::vector<std::string> names;
  for (const topo::NodeIndex node : nodes) names.push_back(plan.cluster.nodes[node].name);
  const std::string count = fmt::format(" ({})", nodes.size());
  return fmt::format(
      "{:<11}{}{}\n", title,
      clipped(base::printable(base::name_ranges(names)), columns - 11 - count.size()), count);
}

std::string switches_text(const PlacementPlan& plan, topo::NodeIndex node) {
  std::string text;
  for (std::size_t level = 0; level < plan.cluster.levels.size(); ++level) {
    if (!has_choice(plan.cluster.levels[level])) continue;
    const auto& all = plan.cluster.levels[level].switches;
    text += (text.empty() ? "" : " ") + all[topo::switch_of(plan.cluster, node, level)].name;
  }
  return base::printable(text);
}

using Cells = std::vector<std::string>;

// The first row is the heading; numbers are aligned right.
std::string table_of_cells(const std::vector<Cells>& rows, std::size_t columns) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Cells& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const Cells& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool number = !rows.back()[i].empty() &&
                          rows.back()[i].find_first_not_of("0123456789-,") == std::string::npos &&
                          i + 1 < row.size();
      if (i > 0) line += "  ";
      line += number ? fmt::format("{:>{}}", row[i], widths[i])
                     : fmt::format("{:<{}}", row[i], widths[i]);
    }
    line.resize(line.find_last_not_of(' ') + 1);
    out += clipped(std::move(line), columns) + "\n";
  }
  return out;
}

std::string table_by_place(const PlacementPlan& plan, std::size_t columns) {
  std::vector<Cells> rows = {{"place", "ranks", "node", plan.chosen ? "switches" : ""}};
  std::uint64_t rank = 0;
  for (std::size_t place = 0; place < plan.placement.nodes.size(); ++place) {
    const topo::NodeIndex node = plan.placement.nodes[place];
    const std::uint32_t slots = plan.placement.shape.slots[place];
    rows.push_back({fmt::format("{}", place), range_text(rank, rank + slots - 1),
                    base::printable(plan.cluster.nodes[node].name), switches_text(plan, node)});
    rank += slots;
  }
  return table_of_cells(rows, columns);
}

// Ascending numbers as "0-3,8".
class Ranges {
 public:
  void add(std::uint64_t first, std::uint64_t last) {
    if (!all_.empty() && all_.back().second + 1 == first) {
      all_.back().second = last;
    } else {
      all_.emplace_back(first, last);
    }
  }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (const auto& [first, last] : all_) {
      out += (out.empty() ? "" : ",") + range_text(first, last);
    }
    return out;
  }

 private:
  std::vector<std::pair<std::uint64_t, std::uint64_t>> all_;
};

// One row per switch of the lowest level.
std::string table_by_switch(const PlacementPlan& plan, std::size_t columns) {
  struct Below {
    std::vector<std::string> nodes;
    Ranges places, ranks;
    topo::NodeIndex any = 0;
  };
  std::vector<Below> switches(plan.cluster.levels.front().switches.size());
  std::uint64_t rank = 0;
  for (std::size_t place = 0; place < plan.placement.nodes.size(); ++place) {
    const topo::NodeIndex node = plan.placement.nodes[place];
    const std::uint32_t slots = plan.placement.shape.slots[place];
    Below& below = switches[plan.cluster.leaf_of[node]];
    below.nodes.push_back(plan.cluster.nodes[node].name);
    below.places.add(place, place);
    below.ranks.add(rank, rank + slots - 1);
    below.any = node;
    rank += slots;
  }
  const std::size_t narrow = std::max<std::size_t>(columns / 4, 12);
  std::vector<Cells> rows = {{plan.chosen ? "switches" : "", "nodes", "places", "ranks"}};
  std::size_t used = 0;
  for (const Below& below : switches) {
    if (below.nodes.empty() || ++used > kTableSwitchesMax) continue;
    rows.push_back({clipped(switches_text(plan, below.any), narrow),
                    clipped(base::printable(base::name_ranges(below.nodes)), narrow),
                    clipped(below.places.text(), narrow), below.ranks.text()});
  }
  std::string out = table_of_cells(rows, columns);
  if (used > kTableSwitchesMax) {
    out += fmt::format("... and {} more switches; --json shows all\n", used - kTableSwitchesMax);
  }
  return out;
}

// "optimal placement", or the cost beside that of natural order and the lower bound.
std::string cost_text(const PlacementPlan& plan) {
  if (topo::gap_percent(plan.placement) == 0) return "optimal placement";
  return fmt::format("weighted spread {}, natural order {}, lower bound {}",
                     units(plan.placement.score.cost.worst), units(plan.natural.score.cost.worst),
                     units(plan.placement.bound.worst));
}

base::Result<topo::Scene> scene_of(const PlacementPlan& plan, std::optional<topo::GroupKind> kind) {
  return topo::make_scene(plan.cluster, plan.placement, plan.objective.kinds, kind);
}

}  // namespace

std::string placement_summary(const PlacementPlan& plan, std::size_t columns) {
  const topo::Placement& placement = plan.placement;
  std::string out;
  if (plan.chosen) {
    out += fmt::format("Network:   {}: {}\n", plan.cluster.source, levels_text(plan.cluster));
  } else {
    out += fmt::format("Network:   {}; natural order\n",
                       plan.cluster.levels.front().name == "network"
                           ? "unknown (" + plan.cluster.source + ")"
                           : plan.cluster.source + ": all nodes are below one switch");
  }
  out += fmt::format("Job:       {} on {} of {}: {}\n", base::counted(world_of(placement), "rank"),
                     base::counted(placement.nodes.size(), "node"), plan.cluster.nodes.size(),
                     sizes_text(placement.shape.parallel));
  if (plan.slots_assumed != 0) {
    out += fmt::format("           each node counts its ranks when it starts; {} are assumed\n",
                       plan.slots_assumed);
  }
  if (plan.chosen) {
    out += fmt::format("Weights:   {}{}\n", weights_text(plan),
                       plan.weights_from.empty() ? "" : fmt::format(" ({})", plan.weights_from));
    out += fmt::format("Placement: {}\n           {}\n", quality_text(placement),
                       clipped(placement.how, columns > 20 ? columns - 11 : columns));
    out += gain_text(plan);
  }
  out += others_text(plan, "Spares:", plan.placement.spares, columns);
  out += others_text(plan, "Not used:", unused_of(plan), columns);
  out += fmt::format(
      "Recommended spares: {} (cover 99 % of days at {} failures per machine and day)\n",
      topo::spares_that_cover(static_cast<std::uint32_t>(placement.nodes.size())),
      topo::kDailyFailureRate);
  if (plan.chosen) out += "\n" + comparison(plan);
  return out;
}

std::string placement_table(const PlacementPlan& plan, std::size_t columns) {
  return plan.placement.nodes.size() > kTableRowsMax ? table_by_switch(plan, columns)
                                                     : table_by_place(plan, columns);
}

base::Result<std::string> placement_picture(const PlacementPlan& plan, const PictureStyle& style) {
  const topo::Scene scene = RR_TRY(scene_of(plan, style.kind));
  topo::TextPictureStyle text;
  text.columns = style.columns;
  text.colour = style.colour;
  return topo::picture_text(scene, text);
}

base::Result<std::string> placement_svg(const PlacementPlan& plan,
                                        std::optional<topo::GroupKind> kind) {
  const topo::Scene scene = RR_TRY(scene_of(plan, kind));
  return topo::picture_svg(scene,
                           fmt::format("{}\n{} on {}: {}; {}", plan.cluster.source,
                                       base::counted(world_of(plan.placement), "rank"),
                                       base::counted(plan.placement.nodes.size(), "node"),
                                       sizes_text(plan.placement.shape.parallel), cost_text(plan)));
}

}  // namespace robustrun::cli
