#include "cli/plan/placement.h"

#include <doctest/doctest.h>

#include "base/core/name_ranges.h"
#include "cli/plan/placement_gain.h"
#include "tests/cli/fakes.h"

namespace robustrun::cli::plan_placement_test {
namespace {

using testing::World;
using Argv = std::vector<std::string>;

// n1 and n3 below one switch, n2 and n4 below the other; n5 to n8 below a third and a fourth.
constexpr const char* kNetwork = R"([level.leaf]
gbps = 80
[[switch]]
name = "a"
nodes = ["n1", "n3"]
[[switch]]
name = "b"
nodes = ["n2", "n4"]
[[switch]]
name = "c"
nodes = ["n[5-6]"]
[[switch]]
name = "d"
nodes = ["n[7-8]"]
)";

struct Planned {
  PlacementPlan plan;
  NodesPlan nodes;
  [[nodiscard]] std::string hosts() const {
    std::vector<std::string> names;
    for (const auto& host : nodes.hosts) names.push_back(host.name);
    return base::name_ranges(names);
  }
};

base::Result<Planned> try_plan(World& world, Argv argv) {
  world.fabric.files["net.toml"] = kNetwork;
  argv.push_back("train.py");
  const Settings settings = RR_TRY(world.merge(argv));
  Planned planned;
  planned.nodes = RR_TRY(plan_nodes(settings, world.around));
  const auto workers = settings.integer(OptionId::kNprocPerNode);
  planned.plan = RR_TRY(plan_placement(
      settings, world.around, static_cast<std::uint32_t>(workers.value_or(0)), planned.nodes));
  return planned;
}

Planned plan(const Argv& argv) {
  World world;
  auto planned = try_plan(world, argv);
  REQUIRE_MESSAGE(planned.has_value(), (planned ? "" : planned.error().what));
  return *std::move(planned);
}

std::string error_of(const Argv& argv) {
  World world;
  const auto planned = try_plan(world, argv);
  return planned ? "" : planned.error().what;
}

TEST_CASE("without a topology the hosts keep their natural order, without a warning") {
  for (const char* topology : {"--topology=auto", "--topology=off"}) {
    const Planned planned = plan({"--hosts=n[1-4,10]", topology});
    CHECK(planned.hosts() == "n[1-4],n10");
    CHECK_FALSE(planned.plan.chosen);
    CHECK_FALSE(planned.plan.request.enabled);
    CHECK(planned.nodes.warnings.empty());
    CHECK(planned.plan.placement.nodes.size() == 5);
  }
  CHECK(plan({"--compat=torchrun", "--hosts=n[1-4]"}).hosts() == "n[1-4]");
}

TEST_CASE("failure domains are known even if all nodes are below one switch") {
  World world;
  world.fabric.files["racks.toml"] =
      "[[switch]]\nname = \"a\"\nnodes = \"n[1-4]\"\n"
      "[[node]]\nname = \"n[1-2]\"\nrack = \"r1\"\n";
  const auto planned = try_plan(world, {"--hosts=n[1-4]", "--topology=racks.toml"});
  REQUIRE_MESSAGE(planned.has_value(), (planned ? "" : planned.error().what));
  const auto& request = planned->plan.request;
  CHECK_FALSE(request.enabled);
  REQUIRE(request.cluster.nodes.size() == 4);
  CHECK(request.cluster.nodes[1].rack == "r1");
  CHECK(request.cluster.nodes[2].rack.empty());
}

TEST_CASE("groups are placed below one switch, and the supervisor gets the reason") {
  const Planned planned =
      plan({"--hosts=n[1-4]", "--topology=net.toml", "--parallel=pp=2", "--rerank=nodes"});
  CHECK(planned.plan.chosen);
  CHECK(planned.hosts() == "n[1-4]");
  const auto& request = planned.plan.request;
  CHECK(request.enabled);
  CHECK(request.rerank == topo::Rerank::kNodes);
  CHECK(request.cluster.nodes.size() == 4);
  CHECK(request.parallel.pp == 2);
  CHECK(request.natural_cost == planned.plan.natural.score.cost.worst);
  CHECK(request.objective.kinds.of(topo::GroupKind::kPp) == topo::kWhole);
  // With dp alone, its one group of two is to be near.
  const Planned pair = plan({"--hosts=n[1-4]", "--topology=net.toml", "--nnodes=2"});
  CHECK(pair.hosts() == "n1,n3,n2,n4");
  CHECK(pair.nodes.spares == 2);
  CHECK(pair.plan.placement.score.cost.worst == 0);
  CHECK(pair.plan.natural.score.cost.worst == 2 * topo::kWhole);
}

TEST_CASE("hosts beyond --nnodes and --spares are candidates, too") {
  const Planned planned =
      plan({"--hosts=n[1-2,7-8]", "--topology=net.toml", "--nnodes=2", "--spares=1"});
  CHECK(planned.nodes.hosts.size() == 3);
  CHECK(planned.nodes.hosts[0].name == "n7");
  CHECK(planned.nodes.hosts[1].name == "n8");
  CHECK(planned.nodes.unused.size() == 1);
  CHECK(unused_hosts(planned.nodes) == "1 host is not used: " + planned.nodes.unused[0].name);
}

TEST_CASE("--rank0 is first, wherever it hangs") {
  const Planned planned = plan({"--hosts=n[1-8]", "--topology=net.toml", "--nnodes=4",
                                "--parallel=pp=2", "--spares=0", "--rank0=n6"});
  CHECK(planned.nodes.hosts.front().name == "n6");
  CHECK(planned.plan.request.first == "n6");
  CHECK(planned.plan.placement.score.cost.worst == 0);
}

TEST_CASE("sizes that do not match are reported with both numbers") {
  CHECK(error_of({"--hosts=n[1-4]", "--parallel=tp=3"}) ==
        "cannot divide 4 ranks by tp=3,cp=1,pp=1: not a multiple of 3; change the sizes or the "
        "number of nodes");
  CHECK(error_of(
            {"--hosts=n[1-4]", "--parallel=pp=2,dp=4", "--nproc-per-node=2", "--topology=net.toml"})
            .empty());
  CHECK(error_of({"--hosts=n[1-4]", "--parallel=pp=2,dp=3", "--nproc-per-node=2"}) ==
        "cannot divide 8 ranks by tp=1,cp=1,pp=2,dp=3: that makes 6; dp=auto takes the rest");
}

TEST_CASE("bad values are reported as the user wrote them") {
  CHECK(error_of({"--parallel=tp=x", "--hosts=n1"}) ==
        "cannot use --parallel=tp=x: 'tp=x': the size is a number of 1 or more");
  CHECK(error_of({"--affinity=1.5", "--hosts=n1"}) ==
        "cannot use --affinity=1.5: it must be a number from 0 to 1");
  CHECK(error_of({"--traffic=dp=much", "--hosts=n1"}) ==
        "cannot use --traffic=dp=much: 'dp=much': a volume is a number of bytes: 500, 30MB, 1.5GB, "
        "2GiB");
  CHECK(error_of({"--model=hidden=4", "--hosts=n1"}) ==
        "cannot use --model=hidden=4: 'hidden=4': vocab is missing");
  CHECK(error_of({"--rank-order=pp-dp-pp", "--hosts=n1"}) ==
        "cannot use --rank-order=pp-dp-pp: 'pp-dp-pp': pp is given twice");
  CHECK(error_of({"--rank-order=tp-pp", "--hosts=n1"}) ==
        "cannot use --rank-order=tp-pp: it lacks dp, which has more than one rank");
  CHECK(error_of({"--rank-order=tp-pp", "--parallel=tp=2,dp=1", "--hosts=n[1-2]"}).empty());
  CHECK(error_of({"--hosts=n[1-2],m7", "--topology=net.toml"})
            .starts_with("cannot find host 'm7' in net.toml"));
  CHECK(error_of({"--hosts=n[1-2]", "--topology=nothing.toml"}) ==
        "cannot read nothing.toml: no such file");
  CHECK(error_of({"--hosts=n[1-2]", "--parallel=dp=3",
                  "--model=vocab=1,seq=1,hidden=1,layers=1,global-batch=3"}) ==
        "cannot divide 2 ranks by tp=1,cp=1,pp=1,dp=3: that makes 3; dp=auto takes the rest");
  CHECK(error_of({"--hosts=n[1-2]", "--model=vocab=1,seq=1,hidden=1,layers=1,global-batch=3"}) ==
        "cannot use --model=vocab=1,seq=1,hidden=1,layers=1,global-batch=3: cannot divide a global "
        "batch of 3 into micro-batches of 1 on dp=2: 3 is no multiple of 2");
}

TEST_CASE("where hosts count their ranks themselves, equal numbers are assumed") {
  const Planned planned = plan(
      {"--hosts=n[1-4]", "--nproc-per-node=gpu", "--topology=net.toml", "--parallel=tp=8,pp=2"});
  CHECK(planned.plan.slots_assumed == 8);
  CHECK(planned.plan.request.cluster.nodes[0].slots == 0);
  CHECK(plan({"--hosts=n[1-4]", "--nproc-per-node=gpu", "--parallel=tp=2,pp=2,dp=4"})
            .plan.slots_assumed == 4);
  CHECK(
      plan({"--hosts=n[1-3]", "--nproc-per-node=gpu", "--parallel=tp=2,pp=8"}).plan.slots_assumed ==
      16);
  CHECK(plan({"--hosts=n[1-4]", "--nproc-per-node=2"}).plan.slots_assumed == 0);
}

TEST_CASE("kinds that stay within a node count nothing") {
  const Planned planned = plan({"--hosts=n[1-4]", "--topology=net.toml", "--nproc-per-node=4",
                                "--parallel=tp=4,pp=2", "--affinity=0.25"});
  const topo::Weights& kinds = planned.plan.objective.kinds;
  CHECK(kinds.of(topo::GroupKind::kTp) == 0);
  CHECK(kinds.of(topo::GroupKind::kDp) == 250'000);
  CHECK(kinds.of(topo::GroupKind::kPp) == 750'000);
  CHECK(planned.plan.weights_from == "--affinity");
}

TEST_CASE("a gain is estimated where traffic and bandwidths are known") {
  CHECK_FALSE(network_seconds(plan({"--hosts=n[1-4]", "--topology=net.toml"}).plan).known());
  const Planned planned =
      plan({"--hosts=n[1-4]", "--topology=net.toml", "--nnodes=2", "--traffic=dp=1GB"});
  const NetworkSeconds seconds = network_seconds(planned.plan);
  CHECK(seconds.ours == 0);
  CHECK(seconds.natural == doctest::Approx(0.1));
  CHECK(gain_percent(seconds) == doctest::Approx(40));
  CHECK_FALSE(gain_percent({}).has_value());
}

TEST_CASE("nodes of a rendezvous are placed when they have joined") {
  const Argv common = {"--nnodes=2", "--rdzv-endpoint=node1:29500", "--insecure-rdzv",
                       "--topology=net.toml"};
  Argv c10d = common;
  c10d.emplace_back("--rdzv-backend=c10d");
  const Planned open = plan(c10d);
  CHECK(open.plan.request.enabled);
  CHECK(open.plan.request.cluster.nodes.size() == 8);
  CHECK(open.nodes.warnings.empty());
  // A node with --node-rank keeps its rank.
  Argv own_rank = common;
  own_rank.emplace_back("--node-rank=0");
  const Planned fixed = plan(own_rank);
  CHECK_FALSE(fixed.plan.request.enabled);
  CHECK(fixed.nodes.warnings ==
        Argv{"--topology=net.toml has no effect: every node has a given rank"});
  c10d[0] = "--nnodes=9";
  CHECK(error_of(c10d) == "cannot use --topology=net.toml: it has 8 nodes, and the run needs 9");
}

}  // namespace
}  // namespace robustrun::cli::plan_placement_test
