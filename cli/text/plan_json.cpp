#include "cli/text/plan_json.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <string_view>

#include "base/core/text.h"
#include "cli/plan/placement_gain.h"

namespace robustrun::cli {
namespace {

using base::json_string;

// An object or a list, by its opening bracket.
class JsonText {
 public:
  explicit JsonText(char open) : text_(1, open) {}
  JsonText& add(std::string_view name, std::string_view value) {
    separate();
    text_ += json_string(name) + ":";
    text_ += value;
    return *this;
  }
  JsonText& add(std::string_view value) {
    separate();
    text_ += value;
    return *this;
  }
  [[nodiscard]] std::string close() const { return text_ + (text_.front() == '{' ? '}' : ']'); }

 private:
  void separate() {
    if (text_.size() > 1) text_ += ',';
  }
  std::string text_;
};

std::string number(double value) { return fmt::format("{}", value); }
template <std::integral T>
std::string number(T value) {
  return fmt::format("{}", value);
}

// Millionths to units.
std::string units_text(std::int64_t millionths) {
  return number(static_cast<double>(millionths) / static_cast<double>(topo::kWhole));
}

std::string rounded(double value, double digits) {
  return number(std::round(value * digits) / digits);
}

std::string cost_json(const topo::Cost& cost) {
  return JsonText('{')
      .add("worst", units_text(cost.worst))
      .add("mean", units_text(cost.mean))
      .close();
}

std::string topology_json(const topo::Cluster& cluster) {
  JsonText levels('[');
  for (const topo::Level& level : cluster.levels) {
    levels.add(JsonText('{')
                   .add("name", json_string(level.name))
                   .add("switches", number(level.switches.size()))
                   .add("gbps", number(level.gbps))
                   .close());
  }
  return JsonText('{')
      .add("source", json_string(cluster.source))
      .add("levels", levels.close())
      .close();
}

std::string parallel_json(const topo::Parallel& parallel) {
  std::string order;
  for (const topo::GroupKind kind : parallel.order) {
    order += (order.empty() ? "" : "-") + std::string(to_string(kind));
  }
  return JsonText('{')
      .add("tp", number(parallel.tp))
      .add("cp", number(parallel.cp))
      .add("ep", number(parallel.ep))
      .add("dp", number(parallel.dp))
      .add("pp", number(parallel.pp))
      .add("rank_order", json_string(order))
      .close();
}

std::string weights_json(const PlacementPlan& plan) {
  JsonText weights('{');
  for (const topo::Family& family : plan.placement.shape.families) {
    weights.add(to_string(family.kind), units_text(plan.objective.kinds.of(family.kind)));
  }
  return weights.close();
}

std::string level_weights_json(const PlacementPlan& plan) {
  JsonText weights('{');
  for (std::size_t level = 0; level < plan.cluster.levels.size(); ++level) {
    weights.add(plan.cluster.levels[level].name, units_text(plan.objective.levels[level]));
  }
  return weights.close();
}

std::string nodes_json(const PlacementPlan& plan) {
  const auto switches = topo::switches_by_level(plan.cluster);
  JsonText nodes('[');
  std::uint32_t rank = 0;
  for (std::size_t place = 0; place < plan.placement.nodes.size(); ++place) {
    const topo::NodeIndex node = plan.placement.nodes[place];
    const std::uint32_t slots = plan.placement.shape.slots[place];
    JsonText above('[');
    for (std::size_t level = 0; level < switches.size(); ++level) {
      above.add(json_string(plan.cluster.levels[level].switches[switches[level][node]].name));
    }
    nodes.add(JsonText('{')
                  .add("place", number(place))
                  .add("name", json_string(plan.cluster.nodes[node].name))
                  .add("first_rank", number(rank))
                  .add("slots", number(slots))
                  .add("switches", above.close())
                  .close());
    rank += slots;
  }
  return nodes.close();
}

std::string spares_json(const PlacementPlan& plan) {
  JsonText spares('[');
  for (const topo::NodeIndex node : plan.placement.spares) {
    spares.add(json_string(plan.cluster.nodes[node].name));
  }
  return spares.close();
}

std::string spreads_json(const PlacementPlan& plan) {
  JsonText spreads('[');
  for (const topo::Spread& spread : plan.placement.score.spreads) {
    const topo::Level& level = plan.cluster.levels[spread.level];
    if (level.switches.size() < 2) continue;
    spreads.add(JsonText('{')
                    .add("kind", json_string(to_string(spread.kind)))
                    .add("level", json_string(level.name))
                    .add("worst", number(spread.worst))
                    .add("mean", rounded(static_cast<double>(spread.sum) / spread.groups, 1e4))
                    .add("groups", number(spread.groups))
                    .close());
  }
  return spreads.close();
}

}  // namespace

std::string placement_json(const PlacementPlan& plan, base::Nanos solving) {
  const topo::Placement& placement = plan.placement;
  JsonText all('{');
  all.add("topology", topology_json(plan.cluster))
      .add("parallel", parallel_json(placement.shape.parallel))
      .add("weights", weights_json(plan))
      .add("level_weights", level_weights_json(plan))
      .add("nodes", nodes_json(plan))
      .add("spares", spares_json(plan))
      .add("cost", cost_json(placement.score.cost))
      .add("bound", units_text(placement.bound.worst))
      .add("gap_percent", rounded(topo::gap_percent(placement), 100))
      .add("method", json_string(to_string(placement.method)))
      .add("how", json_string(placement.how))
      .add("spreads", spreads_json(plan))
      .add("orders", JsonText('{')
                         .add("natural", cost_json(plan.natural.score.cost))
                         .add("lexicographic", cost_json(plan.lexicographic.score.cost))
                         .close());
  const NetworkSeconds seconds = network_seconds(plan);
  if (seconds.known()) {
    all.add("network_seconds", JsonText('{')
                                   .add("ours", number(seconds.ours))
                                   .add("natural", number(seconds.natural))
                                   .add("lexicographic", number(seconds.lexicographic))
                                   .close());
    all.add("gain_percent", rounded(*gain_percent(seconds), 100));
  }
  if (plan.slots_assumed != 0) all.add("slots_assumed", number(plan.slots_assumed));
  all.add("solve_us",
          number(std::chrono::duration_cast<std::chrono::microseconds>(solving).count()));
  return all.close() + "\n";
}

}  // namespace robustrun::cli
