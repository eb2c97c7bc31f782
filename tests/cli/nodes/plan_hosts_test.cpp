#include "cli/nodes/hosts.h"

#include <doctest/doctest.h>

#include "launcher/hosts/host_list.h"
#include "tests/cli/fakes.h"

namespace robustrun::cli::plan_hosts_test {

using launcher::Host;
using testing::World;

namespace {

// "node1=8 node2=8", or the error.
std::string hosts_of(const World& world, std::vector<std::string> argv) {
  argv.emplace_back("s");
  const auto settings = world.merge(argv);
  if (!settings) return settings.error().what;
  const auto hosts = plan_hosts(*settings, world.around);
  if (!hosts) return hosts.error().what;
  std::string text;
  for (const Host& host : *hosts) {
    text += (text.empty() ? "" : " ") + to_text(host) + "=" + std::to_string(host.slots);
  }
  return text;
}

}  // namespace

TEST_CASE("hosts are in natural order, --rank0 first") {
  World world;
  CHECK(hosts_of(world, {"--hosts=node10,node[1-2]"}) == "node1=0 node2=0 node10=0");
  CHECK(hosts_of(world, {"--hosts=node10,node[1-2]", "--rank0=node10"}) ==
        "node10=0 node1=0 node2=0");
  CHECK(hosts_of(world, {"--hosts=a:2201,a:2202", "--rank0=a:2202"}) == "a:2202=0 a:2201=0");
  CHECK(hosts_of(world, {"--hosts=node[1-2]", "--rank0=node3"}) ==
        "cannot use --rank0=node3: it is not among the hosts (did you mean node1?)");
  CHECK(hosts_of(world, {}).empty());
}

TEST_CASE("host files are read, and filters applied") {
  World world;
  world.machine.files["hosts"] = "node[1-3] slots=4\nnode4\n";
  CHECK(hosts_of(world, {"--hostfile=hosts"}) == "node1=4 node2=4 node3=4 node4=0");
  CHECK(hosts_of(world, {"--hostfile=hosts", "--include=node2@node3:0,1"}) == "node2=4 node3=2");
  CHECK(hosts_of(world, {"--hostfile=hosts", "--exclude=node[1-2]"}) == "node3=4 node4=0");
  CHECK(hosts_of(world, {"--hostfile=hosts", "--include=node[1-2]", "--exclude=node1"}) ==
        "node2=4");
  CHECK(hosts_of(world, {"--hostfile=none"}) == "cannot use --hostfile=none: no such file");
  world.machine.files["bad"] = "node1\nnode1\n";
  CHECK(hosts_of(world, {"--hostfile=bad"}).starts_with("bad:2: node1 is in line 1 already"));
}

TEST_CASE("--nproc-per-node, where it was given, counts instead of slots and may not exceed them") {
  World world;
  world.machine.files["hosts"] = "node[1-2] slots=4\n";
  CHECK(hosts_of(world, {"--hostfile=hosts", "--nproc-per-node=2"}) == "node1=0 node2=0");
  CHECK(hosts_of(world, {"--hostfile=hosts", "--nproc-per-node=gpu"}) == "node1=0 node2=0");
  CHECK(hosts_of(world, {"--hostfile=hosts", "--nproc-per-node=8"}) ==
        "cannot use --nproc-per-node=8: node1 has 4 slots; lower it, or raise slots= in the host "
        "file");
}

TEST_CASE("of two sources the one of higher precedence counts, and equals are refused") {
  World world;
  world.machine.files["hosts"] = "node9\n";
  CHECK(hosts_of(world, {"--hosts=node1", "--hostfile=hosts"}) ==
        "cannot use --hosts=node1: --hostfile=hosts names hosts as well; leave one of them out");
  world.around.environment.emplace_back("ROBUSTRUN_HOSTFILE=hosts");
  CHECK(hosts_of(world, {}) == "node9=0");
  CHECK(hosts_of(world, {"--hosts=node1"}) == "node1=0");
}

TEST_CASE("errors show how the user wrote it") {
  World world;
  CHECK(hosts_of(world, {"--hosts="}) ==
        "cannot use --hosts=: it is empty; name hosts, or leave the option out");
  CHECK(hosts_of(world, {"--hosts=a,,b"}) ==
        "cannot use --hosts=a,,b: at character 3: a host name is missing");
  CHECK(hosts_of(world, {"--hosts=a", "--include=b"}) ==
        "cannot use --include=b: b is not among the hosts");
  CHECK(hosts_of(world, {"--include=b"}) ==
        "cannot use --include=b: no hosts are named; add --hosts=LIST or --hostfile=FILE");
  CHECK(hosts_of(world, {"--rank0=b"}).find("no hosts are named") != std::string::npos);
}

TEST_CASE("this machine is known by its own name and as localhost, without user and port") {
  World world;
  for (const char* name : {"localhost", "127.0.0.1", "[::1]", "node7"}) {
    CHECK(is_this_machine({name, "", 0, 0}, world.around));
    CHECK_FALSE(is_this_machine({name, "ada", 0, 0}, world.around));
    CHECK_FALSE(is_this_machine({name, "", 22, 0}, world.around));
  }
  CHECK_FALSE(is_this_machine({"node8", "", 0, 0}, world.around));
}

}  // namespace robustrun::cli::plan_hosts_test
