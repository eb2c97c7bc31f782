#include "cli/text/plan_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/core/words.h"
#include "cli/plan/placement_gain.h"
#include "cli/text/placement_words.h"
#include "supervisor/core/report/html/frame.h"
#include "supervisor/core/report/inert.h"
#include "supervisor/core/types/json_writer.h"
#include "topo/picture/crossings.h"

namespace robustrun::cli {
namespace {

using Numbers = std::vector<double>;
using supervisor::html_text;

constexpr std::size_t kNameBytes = 120;
constexpr std::size_t kPlanSentenceBytes = 600;
// With more members of groups than this the page shows none of that kind.
constexpr std::size_t kMembersMax = 200'000;

struct Fact {
  std::string label;
  std::string value;
  template <class V>
  void fields(V& v) {
    v(1, "label", label);
    v(2, "value", value);
  }
};

struct SwitchData {
  std::string name;
  std::uint32_t parent = 0;  // on the next level
  std::vector<Numbers> crossing;  // by kind: groups with members below it, those that reach beyond
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "parent", parent);
    v(3, "crossing", crossing);
  }
};

struct LevelData {
  std::string name;
  double gbps = 0;
  std::vector<SwitchData> switches;
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "gbps", gbps);
    v(3, "switches", switches);
  }
};

struct NodeData {
  std::string name;
  std::uint32_t leaf = 0;  // of the lowest level
  std::string use;  // "works", "spare", "unused"
  std::optional<std::uint32_t> place;
  std::uint64_t first = 0;  // rank
  std::uint32_t slots = 0;
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "leaf", leaf);
    v(3, "use", use);
    v(4, "place", place);
    v(5, "first", first);
    v(6, "slots", slots);
  }
};

struct KindData {
  std::string name;  // "dp"
  std::uint32_t size = 0;  // ranks in a group
  std::uint64_t groups = 0;  // groups of ranks that span nodes
  double weight = 0;
  std::vector<Numbers> members;  // by group of places; empty: too many
  template <class V>
  void fields(V& v) {
    v(1, "name", name);
    v(2, "size", size);
    v(3, "groups", groups);
    v(4, "weight", weight);
    v(5, "members", members);
  }
};

// Of one kind on one level: most and mean switches of a group, by order.
struct SpreadData {
  std::string kind;
  std::string level;
  Numbers worst;
  Numbers mean;
  template <class V>
  void fields(V& v) {
    v(1, "kind", kind);
    v(2, "level", level);
    v(3, "worst", worst);
    v(4, "mean", mean);
  }
};

struct PlanData {
  std::string title;
  std::vector<std::string> lines;
  std::vector<Fact> facts;
  std::vector<LevelData> levels;  // lowest first; those that divide the nodes
  std::vector<NodeData> nodes;
  std::vector<KindData> kinds;  // of most weight first
  std::vector<SpreadData> spreads;
  Numbers costs;  // placed, natural, lexicographic; empty: nothing was chosen
  template <class V>
  void fields(V& v) {
    v(1, "title", title);
    v(2, "lines", lines);
    v(3, "facts", facts);
    v(4, "levels", levels);
    v(5, "nodes", nodes);
    v(6, "kinds", kinds);
    v(7, "spreads", spreads);
    v(8, "costs", costs);
  }
};

std::string name_text(std::string_view text) { return supervisor::inert_text(text, kNameBytes); }
std::string plan_sentence(std::string_view text) {
  return supervisor::inert_text(text, kPlanSentenceBytes);
}
double whole(std::int64_t millionths) {
  return static_cast<double>(millionths) / static_cast<double>(topo::kWhole);
}

// Levels from the lowest one up to the highest that divides the nodes.
std::size_t levels_shown(const topo::Cluster& cluster) {
  std::size_t count = 1;
  for (std::size_t level = 0; level < cluster.levels.size(); ++level) {
    if (has_choice(cluster.levels[level])) count = level + 1;
  }
  return count;
}

std::vector<const topo::Family*> families_of(const PlacementPlan& plan) {
  std::vector<const topo::Family*> families;
  for (const topo::Family& family : plan.placement.shape.families) families.push_back(&family);
  std::ranges::stable_sort(families, std::greater(), [&](const topo::Family* family) {
    return plan.objective.kinds.of(family->kind);
  });
  return families;
}

void fill_tree(const PlacementPlan& plan, PlanData& page) {
  const topo::Cluster& cluster = plan.cluster;
  for (std::size_t level = 0; level < levels_shown(cluster); ++level) {
    LevelData& out = page.levels.emplace_back();
    out.name = name_text(cluster.levels[level].name);
    out.gbps = cluster.levels[level].gbps;
    for (const topo::Switch& one : cluster.levels[level].switches) {
      out.switches.push_back({name_text(one.name), one.parent, {}});
    }
  }
  for (const topo::Family* family : families_of(plan)) {
    const auto counts = topo::crossings(cluster, *family, plan.placement.nodes);
    for (std::size_t level = 0; level < page.levels.size(); ++level) {
      for (std::size_t at = 0; at < counts[level].size(); ++at) {
        const topo::Crossing& one = counts[level][at];
        page.levels[level].switches[at].crossing.push_back(
            {static_cast<double>(one.groups), static_cast<double>(one.beyond)});
      }
    }
  }
}

void fill_nodes(const PlacementPlan& plan, PlanData& page) {
  for (std::size_t node = 0; node < plan.cluster.nodes.size(); ++node) {
    page.nodes.push_back(
        {name_text(plan.cluster.nodes[node].name), plan.cluster.leaf_of[node], "unused", {}});
  }
  std::uint64_t rank = 0;
  for (std::uint32_t place = 0; place < plan.placement.nodes.size(); ++place) {
    NodeData& node = page.nodes[plan.placement.nodes[place]];
    node.use = "works";
    node.place = place;
    node.first = rank;
    node.slots = plan.placement.shape.slots[place];
    rank += node.slots;
  }
  for (const topo::NodeIndex node : plan.placement.spares) page.nodes[node].use = "spare";
}

void fill_kinds(const PlacementPlan& plan, PlanData& page) {
  for (const topo::Family* family : families_of(plan)) {
    KindData& kind = page.kinds.emplace_back();
    kind.name = to_string(family->kind);
    kind.size = family->size;
    kind.weight = whole(plan.objective.kinds.of(family->kind));
    for (const std::uint32_t count : family->ranks) kind.groups += count;
    if (family->places.size() > kMembersMax) continue;
    for (std::uint32_t group = 0; group < family->groups(); ++group) {
      const auto places = family->group(group);
      kind.members.emplace_back(places.begin(), places.end());
    }
  }
}

void fill_comparison(const PlacementPlan& plan, PlanData& page) {
  if (!plan.chosen) return;
  const topo::Placement* const orders[] = {&plan.placement, &plan.natural, &plan.lexicographic};
  for (const topo::Spread& spread : plan.placement.score.spreads) {
    const topo::Level& level = plan.cluster.levels[spread.level];
    if (!has_choice(level)) continue;
    SpreadData& out = page.spreads.emplace_back();
    out.kind = to_string(spread.kind);
    out.level = name_text(level.name);
    for (const topo::Placement* order : orders) {
      const auto same = std::ranges::find_if(order->score.spreads, [&](const topo::Spread& one) {
        return one.kind == spread.kind && one.level == spread.level;
      });
      const bool is_there = same != order->score.spreads.end() && same->groups > 0;
      out.worst.push_back(is_there ? same->worst : 0);
      out.mean.push_back(is_there ? static_cast<double>(same->sum) / same->groups : 0);
    }
  }
  for (const topo::Placement* order : orders) page.costs.push_back(whole(order->score.cost.worst));
}

void fill_summary(const PlacementPlan& plan, PlanData& page) {
  const topo::Placement& placement = plan.placement;
  page.title = fmt::format("{} on {}", base::counted(world_of(placement), "rank"),
                           base::counted(placement.nodes.size(), "node"));
  if (plan.chosen) {
    page.lines.push_back(plan_sentence(
        fmt::format("Placed by {}: {}.", plan.cluster.source, levels_text(plan.cluster))));
    page.lines.push_back(plan_sentence(fmt::format("{}.", quality_text(placement))));
  } else {
    page.lines.push_back(plan_sentence(
        fmt::format("Hosts in their natural order: {}.",
                    plan.cluster.levels.front().name == "network"
                        ? "the network between them is unknown (" + plan.cluster.source + ")"
                        : "by " + plan.cluster.source + " all are below one switch")));
  }
  const auto fact = [&](const char* label, const std::string& value) {
    if (!value.empty()) page.facts.push_back({label, plan_sentence(value)});
  };
  fact("Parallelism", sizes_text(placement.shape.parallel));
  if (plan.chosen) {
    fact("Weights", weights_text(plan));
    fact("Method", placement.how);
    const auto gain = gain_percent(network_seconds(plan));
    if (gain) fact("Against natural order", fmt::format("{:.1f} % of a step", *gain));
  }
  fact("Hosts", fmt::format("{} work, {} spare, {} unused", placement.nodes.size(),
                            placement.spares.size(), unused_of(plan).size()));
}

std::string without_script(const PlanData& page) {
  std::string out = "<h1>" + html_text(page.title) + "</h1>";
  for (const std::string& line : page.lines) out += "<p>" + html_text(line) + "</p>";
  return out + "<p>Scripts are off: `robustrun plan` shows the rest as text.</p>";
}

}  // namespace

std::string plan_page(const PlacementPlan& plan) {
  PlanData page;
  fill_summary(plan, page);
  fill_tree(plan, page);
  fill_nodes(plan, page);
  fill_kinds(plan, page);
  fill_comparison(plan, page);
  return supervisor::html_page({supervisor::PageKind::kPlan, page.title + " · robustrun plan",
                                supervisor::JsonWriter::object(page), without_script(page)});
}

}  // namespace robustrun::cli
