#include "cli/placement/cluster_source.h"

#include <doctest/doctest.h>

#include "tests/cli/fakes.h"
#include "tests/topo/shown.h"

namespace robustrun::cli::cluster_source_test {
namespace {

using testing::World;
using Hosts = std::vector<std::string>;

constexpr const char* kToml =
    "[[switch]]\nname = \"s1\"\nnodes = \"n[1-4]\"\n[[switch]]\nname = \"s2\"\nnodes = \"n5\"\n";
constexpr const char* kScontrol =
    "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=s2 Level=0 LinkSpeed=1 "
    "Nodes=n[3-4]\nSwitchName=s3 Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s[1-2]\n";

struct Cluster : World {
  Cluster() {
    machine.executables.insert("/usr/bin/scontrol");
    around.environment.emplace_back("SLURM_JOB_ID=7");
    fabric.slurm = kScontrol;
  }
};

}  // namespace

TEST_CASE("a topology file: TOML by its name, others by their content") {
  World world;
  world.fabric.files = {{"t.toml", kToml},
                        {"topology.conf", "SwitchName=s1 Nodes=n[1-4]\nSwitchName=s2 Nodes=n5\n"}};
  for (const char* file : {"t.toml", "topology.conf"}) {
    const auto cluster = find_cluster(file, {"n5", "n2"}, world.around).value();
    CHECK(topo::shown(cluster) == "n5: s2\nn2: s1\n");
    CHECK(cluster.source == file);
  }
}

TEST_CASE("a topology file that lacks hosts is an error") {
  World world;
  world.fabric.files = {{"t.toml", kToml}, {"bad.toml", "[[switch]]\nnam = \"s\"\n"}, {"x", "?"}};
  const auto error_of = [&](const char* file, const Hosts& hosts) {
    const auto cluster = find_cluster(file, hosts, world.around);
    return cluster ? "no error" : cluster.error().what;
  };
  CHECK(error_of("none.toml", {"n1"}) == "cannot read none.toml: no such file");
  CHECK(error_of("bad.toml", {"n1"}).starts_with("cannot use bad.toml, line 2: unknown key 'nam'"));
  CHECK(error_of("x", {"n1"}).starts_with("cannot use x, line 1: unknown format"));
  CHECK(error_of("t.toml", {"n1", "n9"}).starts_with("cannot find host 'n9' in t.toml"));
}

TEST_CASE("domains of NVLink become a level where they fit in between the hosts of the run") {
  World world;
  world.fabric.files = {{"t.toml", std::string(kToml) +
                                       "[[node]]\nname = \"n[1-2]\"\nnvl_domain = \"a\"\n"
                                       "[[node]]\nname = \"n[3,5]\"\nnvl_domain = \"b\"\n"}};
  const auto fits = find_cluster("t.toml", {"n1", "n2", "n3"}, world.around).value();
  CHECK(topo::shown(fits) == "n1: a s1\nn2: a s1\nn3: b s1\n");
  CHECK(fits.levels[0].name == "nvl");
  const auto crosses = find_cluster("t.toml", {"n1", "n3", "n4", "n5"}, world.around).value();
  CHECK(topo::shown(crosses) == "n1: s1\nn3: s1\nn4: s1\nn5: s2\n");
}

TEST_CASE("off: the network is unknown, and nothing is asked") {
  const Cluster world;
  const auto cluster = find_cluster("off", {"r1n1", "r1n2", "r2n1"}, world.around).value();
  CHECK_FALSE(topo::has_structure(cluster));
  CHECK(cluster.source == "no topology");
}

TEST_CASE("auto: within a job, Slurm's topology") {
  const Cluster world;
  const auto cluster = find_cluster("auto", {"n4", "n1"}, world.around).value();
  CHECK(topo::shown(cluster) == "n4: s2 s3\nn1: s1 s3\n");
  CHECK(cluster.source == "scontrol show topology");
}

TEST_CASE("auto: an unusable topology of Slurm's is noted, and is no error") {
  Cluster world;
  const auto source = [&](const Hosts& hosts) {
    return find_cluster("auto", hosts, world.around).value().source;
  };
  CHECK(source({"n4", "other"}) ==
        "no topology; cannot find host 'other' in scontrol show topology; add it there, or leave "
        "the topology out");
  world.fabric.slurm = "\n";
  CHECK(source({"n4", "n1"}) == "no topology; Slurm has no topology");
  world.fabric.slurm = base::fail(base::Errc::kTimeout, "scontrol show topology: too slow");
  CHECK(source({"n4", "n1"}) == "no topology; scontrol show topology: too slow");
  world.fabric.slurm = "SwitchName=s1 Level=0 Nodes=n[1-2]\nSwitchName=s2 Level=0 Nodes=n[2-3]\n";
  CHECK(source({"n3", "n1"})
            .starts_with(
                "no topology; cannot use scontrol show topology, line 2: node 'n2' is below"));
  CHECK(source({"r1n3", "r1n1", "r2n1"})
            .starts_with("host names (r1n3 seems to be in rack "
                         "r1); cannot use scontrol"));
  world.machine.executables.clear();
  CHECK(source({"n4", "n1"}) == "no topology; scontrol is not on PATH");
}

TEST_CASE("auto: elsewhere the names of hosts, if they show racks") {
  const World world;
  const auto cluster = find_cluster("auto", {"r2n1", "r1n1", "r1n2"}, world.around).value();
  CHECK(topo::shown(cluster) == "r2n1: r2\nr1n1: r1\nr1n2: r1\n");
  CHECK(cluster.nodes[0].rack == "r2");
  CHECK(cluster.source == "host names (r2n1 seems to be in rack r2)");
  CHECK(find_cluster("auto", {"n1", "n2"}, world.around).value().source == "no topology");
}

TEST_CASE("auto: one host, or one on several ports, needs no topology") {
  const Cluster world;
  CHECK(find_cluster("auto", {"n4"}, world.around).value().source == "no topology");
  CHECK(find_cluster("auto", {}, world.around).value().nodes.empty());
  CHECK(find_cluster("auto", {"n4", "n4"}, world.around).value().nodes.size() == 2);
}

}  // namespace robustrun::cli::cluster_source_test
