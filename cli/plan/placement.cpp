#include "cli/plan/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/core/text.h"
#include "cli/placement/cluster_source.h"
#include "cli/placement/wishes.h"
#include "launcher/hosts/host_list.h"
#include "topo/spares/put_first.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using base::Result;
using launcher::Host;

constexpr std::size_t kHostsShown = 4;  // in a message

std::vector<std::string> names_of(const std::vector<Host>& hosts) {
  std::vector<std::string> names;
  names.reserve(hosts.size());
  for (const Host& host : hosts) names.push_back(host.name);
  return names;
}

// The assumed number of ranks per node if the nodes count for themselves: equal, as few as the
// sizes allow, and no tensor-parallel group across nodes.
std::uint32_t assumed_slots(const topo::Parallel& parallel, std::uint32_t places) {
  const std::uint64_t least = topo::least_world(parallel);
  if (parallel.dp != 0 && least * parallel.dp % places == 0) {
    return static_cast<std::uint32_t>(least * parallel.dp / places);
  }
  const std::uint64_t in_tp = std::uint64_t{places} * parallel.tp;
  return static_cast<std::uint32_t>(parallel.tp * (least / std::gcd(least, in_tp)));
}

void fill_slots(const std::vector<Host>& hosts, std::uint32_t workers, PlacementPlan& plan) {
  bool unknown = false;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    std::uint32_t& slots = plan.cluster.nodes[i].slots;
    if (hosts[i].slots != 0 || workers != 0) {
      slots = hosts[i].slots != 0 ? hosts[i].slots : workers;
    }
    unknown = unknown || slots == 0;
  }
  if (!unknown) return;
  plan.slots_assumed = assumed_slots(plan.parallel, plan.places);
  for (topo::Node& node : plan.cluster.nodes) {
    if (node.slots == 0) node.slots = plan.slots_assumed;
  }
}

// Kinds of groups that span nodes in natural order.
std::vector<topo::GroupKind> kinds_between_nodes(const topo::Shape& shape) {
  std::vector<topo::GroupKind> kinds;
  for (const topo::Family& family : shape.families) kinds.push_back(family.kind);
  return kinds;
}

Result<topo::Placement> in_order_of_letters(const PlacementPlan& plan) {
  topo::Problem problem = plan.problem();
  std::ranges::stable_sort(problem.candidates, {}, [&](topo::NodeIndex node) {
    return std::string_view(plan.cluster.nodes[node].name);
  });
  return topo::place_in_order(problem);
}

std::string source_of_weights(const PlacementWishes& wishes, const PlacementPlan& plan) {
  const topo::Parallel& sizes = plan.natural.shape.parallel;
  const auto of = [&](topo::GroupKind kind) { return plan.traffic.of(kind); };
  if (plan.natural.shape.families.size() < 2 || sizes.pp == 1) return "";
  if (wishes.affinity) return "--affinity";
  if (of(topo::GroupKind::kDp) > 0 && of(topo::GroupKind::kPp) > 0) return "from the traffic";
  return sizes.ep > 1 ? "default with experts" : "default for dense models";
}

// Sets the weights of the objective, and the placements to compare with.
base::Status weigh(const Settings& settings, const PlacementWishes& wishes, PlacementPlan& plan) {
  plan.objective.levels = topo::default_level_weights(plan.cluster);
  plan.natural = RR_TRY(topo::place_in_order(plan.problem()));
  const topo::Parallel& resolved = plan.natural.shape.parallel;
  plan.traffic = RR_TRY(traffic_of_job(settings, wishes, resolved));
  plan.objective.kinds = topo::only(topo::weights_for(resolved, plan.traffic, wishes.affinity),
                                    kinds_between_nodes(plan.natural.shape));
  plan.weights_from = source_of_weights(wishes, plan);
  plan.natural.score =
      topo::score(plan.cluster, plan.natural.shape, plan.objective, plan.natural.nodes);
  plan.lexicographic = RR_TRY(in_order_of_letters(plan));
  return {};
}

base::Status solve(PlacementPlan& plan) {
  plan.placement = plan.natural;
  plan.placement.method = topo::Method::kOneSwitch;
  if (!plan.chosen) return {};
  const topo::Problem problem = plan.problem();
  plan.placement = RR_TRY(topo::place(problem));
  if (plan.first) {
    plan.placement = RR_TRY(topo::put_first(problem, std::move(plan.placement), *plan.first));
  }
  return {};
}

void reorder(const topo::Placement& placement, std::vector<Host> all, NodesPlan& nodes) {
  nodes.hosts.clear();
  std::vector<bool> taken(all.size(), false);
  for (const auto* some : {&placement.nodes, &placement.spares}) {
    for (const topo::NodeIndex node : *some) {
      taken[node] = true;
      nodes.hosts.push_back(all[node]);
    }
  }
  nodes.unused.clear();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!taken[i]) nodes.unused.push_back(std::move(all[i]));
  }
}

// Whether any node has a label of a failure domain.
bool has_labels(const topo::Cluster& cluster) {
  return std::ranges::any_of(cluster.nodes, [](const topo::Node& node) {
    return !node.rack.empty() || !node.power.empty() || !node.nvl_domain.empty();
  });
}

Result<supervisor::PlacementRequest> request_for(const PlacementPlan& plan, topo::Rerank rerank,
                                                 const NodesPlan& nodes) {
  supervisor::PlacementRequest request;
  // Racks decide which node keeps whose copies, even below a single switch.
  if (!plan.chosen && !has_labels(plan.cluster)) return request;
  request.cluster = RR_TRY(topo::restrict_to(plan.cluster, names_of(nodes.hosts)));
  if (!plan.chosen) return request;
  request.enabled = true;
  for (topo::Node& node : request.cluster.nodes) {
    if (plan.slots_assumed != 0) node.slots = 0;
  }
  request.parallel = plan.parallel;
  request.objective = plan.objective;
  request.rerank = rerank;
  if (plan.first) request.first = plan.cluster.nodes[*plan.first].name;
  request.how = plan.placement.how;
  request.natural_cost = plan.natural.score.cost.worst;
  return request;
}

// Nodes that are started by hand are placed once all have joined.
base::Status plan_for_joining(const Settings& settings, const Surroundings& around,
                              const PlacementWishes& wishes, std::uint32_t workers,
                              NodesPlan& nodes, PlacementPlan& plan) {
  const std::string topology = settings.text(OptionId::kTopology);
  if (nodes.way != NodesPlan::Way::kRendezvous || topology == "auto" || topology == "off") {
    return {};
  }
  if (nodes.meeting->node_rank) {
    nodes.warnings.push_back(fmt::format("{} has no effect: every node has a given rank",
                                         settings.written(OptionId::kTopology)));
    return {};
  }
  plan.cluster = RR_TRY(whole_cluster(topology, around));
  plan.places = nodes.max_nodes;
  if (plan.cluster.nodes.size() < plan.places) {
    return fail(
        Errc::kInvalidArgument,
        fmt::format("cannot use {}: it has {} nodes, and the run needs {}",
                    settings.written(OptionId::kTopology), plan.cluster.nodes.size(), plan.places));
  }
  fill_slots(std::vector<Host>(plan.cluster.nodes.size()), workers, plan);
  RR_TRY(weigh(settings, wishes, plan));
  plan.request.enabled = topo::has_structure(plan.cluster);
  plan.request.cluster = plan.cluster;
  plan.request.parallel = plan.parallel;
  plan.request.objective = plan.objective;
  plan.request.rerank = wishes.rerank;
  return {};
}

}  // namespace

topo::Problem PlacementPlan::problem() const {
  topo::Problem problem;
  problem.cluster = &cluster;
  problem.parallel = parallel;
  problem.objective = objective;
  problem.candidates.resize(cluster.nodes.size());
  std::iota(problem.candidates.begin(), problem.candidates.end(), 0);
  problem.places = places;
  problem.spares = spares;
  return problem;
}

std::string unused_hosts(const NodesPlan& nodes) {
  if (nodes.unused.empty()) return "";
  std::vector<std::string> names;
  for (const Host& host : nodes.unused) {
    if (names.size() < kHostsShown) names.push_back(launcher::to_text(host));
  }
  const std::size_t unused = nodes.unused.size();
  return fmt::format("{} {} not used: {}{}", unused, unused == 1 ? "host is" : "hosts are",
                     base::join(names, ", "), unused > names.size() ? ", ..." : "");
}

Result<PlacementPlan> plan_placement(const Settings& settings, const Surroundings& around,
                                     std::uint32_t workers, NodesPlan& nodes) {
  const PlacementWishes wishes = RR_TRY(placement_wishes(settings));
  PlacementPlan plan;
  plan.parallel = wishes.parallel;
  if (nodes.hosts.empty()) {
    if (nodes.way == NodesPlan::Way::kLocal && settings.has(OptionId::kParallel)) {
      auto fits = topo::resolve(wishes.parallel, workers);
      if (!fits) return cannot_use(settings, OptionId::kParallel, fits.error().what);
    }
    RR_TRY(plan_for_joining(settings, around, wishes, workers, nodes, plan));
    return plan;
  }
  std::vector<Host> all = nodes.hosts;
  all.insert(all.end(), nodes.unused.begin(), nodes.unused.end());
  plan.places = nodes.max_nodes;
  plan.spares = nodes.spares;
  RR_ASSERT(plan.places > 0 && plan.places <= all.size());
  plan.cluster =
      all.size() < 2
          ? topo::flat_cluster(names_of(all))
          : RR_TRY(find_cluster(settings.text(OptionId::kTopology), names_of(all), around));
  fill_slots(all, workers, plan);
  if (!settings.text(OptionId::kRank0).empty()) plan.first = 0;  // plan_hosts() puts it first
  plan.chosen = all.size() > 1 && topo::has_structure(plan.cluster);
  RR_TRY(weigh(settings, wishes, plan));
  RR_TRY(solve(plan));
  if (plan.chosen) reorder(plan.placement, std::move(all), nodes);
  plan.request = RR_TRY(request_for(plan, wishes.rerank, nodes));
  return plan;
}

}  // namespace robustrun::cli
