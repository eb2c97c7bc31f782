#include "cli/nodes/nodes.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "cli/options/limits.h"
#include "cli/plan/placement.h"
#include "tests/cli/fakes.h"

namespace robustrun::cli::plan_nodes_test {

using testing::World;
using Way = NodesPlan::Way;
using Argv = std::vector<std::string>;

namespace {

base::Result<NodesPlan> plan(const World& world, Argv argv) {
  argv.emplace_back("s");
  const auto settings = world.merge(argv);
  if (!settings) return std::unexpected(settings.error());
  return plan_nodes(*settings, world.around);
}

std::string error_of(const World& world, const Argv& argv) {
  const auto made = plan(world, argv);
  return made ? "no error" : made.error().what;
}

std::string error_of(const Argv& argv) { return error_of(World(), argv); }

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// "min:max+spares of hosts"
std::string counts(const Argv& argv) {
  World world;
  const auto made = plan(world, argv);
  if (!made) return made.error().what;
  return std::to_string(made->min_nodes) + ":" + std::to_string(made->max_nodes) + "+" +
         std::to_string(made->spares) + " of " + std::to_string(made->hosts.size());
}

const Argv kC10d = {"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=node1:29400"};

Argv joined(Argv more) {
  more.insert(more.begin(), kC10d.begin(), kC10d.end());
  return more;
}

}  // namespace

TEST_CASE("how agents get onto nodes") {
  World world;
  world.machine.kinds["/run/munge/munge.socket.2"] = PathKind::kSocket;
  const auto way = [&](const Argv& argv) { return plan(world, argv).value().way; };
  CHECK(way({}) == Way::kLocal);
  CHECK(way({"--standalone", "--nnodes=1:4"}) == Way::kLocal);
  CHECK(way({"--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0"}) == Way::kLocal);
  CHECK(way({"--hosts=localhost"}) == Way::kLocal);
  CHECK(way({"--hosts=node7", "--nnodes=1"}) == Way::kLocal);
  CHECK(way({"--hosts=localhost", "--launcher=ssh"}) == Way::kSsh);
  CHECK(way({"--hosts=localhost:2222"}) == Way::kSsh);
  CHECK(way({"--hosts=node1"}) == Way::kSsh);
  CHECK(way({"--hosts=localhost,node1"}) == Way::kSsh);
  CHECK(way(kC10d) == Way::kRendezvous);
  CHECK(way({"--launcher=join", "--rdzv-backend=c10d", "--rdzv-endpoint=node1"}) ==
        Way::kRendezvous);
  CHECK(way({"--launcher=processes", "--nnodes=3"}) == Way::kProcesses);
  CHECK(way({"--launcher=local"}) == Way::kLocal);
  CHECK(plan(world, {})->where() == Where::kHere);
  CHECK(plan(world, {"--hosts=node1"})->where() == Where::kHosts);
  CHECK(plan(world, kC10d)->where() == Where::kMeeting);
}

TEST_CASE("with hosts alone all of them work except the spares") {
  CHECK(counts({}) == "1:1+0 of 0");
  CHECK(counts({"--hosts=n[1-4]"}) == "4:4+0 of 4");
  CHECK(counts({"--hosts=n[1-4]", "--spares=1"}) == "3:3+1 of 4");
  CHECK(counts({"--hosts=n[1-4]", "--spares=1", "--nodes-min=2"}) == "2:3+1 of 4");
  CHECK(counts({"--hosts=n[1-4]", "--spares=4"}) ==
        "cannot use --spares=4: of 4 hosts, at least one must work");
  CHECK(counts({"--hosts=n[1-4]", "--nodes-min=5"}) ==
        "cannot use --nodes-min=5: the run has at most 4 nodes");
  CHECK(counts({"--launcher=processes", "--nnodes=2:3", "--spares=1"}) == "2:3+1 of 4");
}

TEST_CASE("hosts beyond --nnodes are spares, unless --spares says how many") {
  CHECK(counts({"--hosts=n[1-4]", "--nnodes=3"}) == "3:3+1 of 4");
  CHECK(counts({"--hosts=n[1-4]", "--nnodes=2:3"}) == "2:3+1 of 4");
  CHECK(counts({"--hosts=n[1-4]", "--nnodes=4"}) == "4:4+0 of 4");
  CHECK(counts({"--hosts=n[1-4]", "--nnodes=5"}) ==
        "cannot use --nnodes=5: 4 hosts are named; name more, or lower it");
  CHECK(counts({"--hosts=n[1-4]", "--nnodes=3", "--spares=2"}) ==
        "cannot use --spares=2: of 4 hosts, 3 must work");
  CHECK(counts({"--hosts=n[1-4]", "--nnodes=3", "--nodes-min=2"}) == "2:3+1 of 4");
  CHECK(counts({"--hosts=n[1-4]", "--nnodes=2:4", "--nodes-min=3"}) ==
        "cannot use --nodes-min=3: --nnodes=2:4 has the minimum 2; leave one of them out");
  World world;
  const auto made = plan(world, {"--hosts=n[1-9]", "--nnodes=2", "--spares=1"});
  REQUIRE(made.has_value());
  CHECK(made->hosts.size() == 3);
  CHECK(unused_hosts(*made) == "6 hosts are not used: n4, n5, n6, n7, ...");
  const auto one = plan(world, {"--hosts=n[1-2]", "--nnodes=1", "--spares=0"});
  CHECK(unused_hosts(*one) == "1 host is not used: n2");
}

TEST_CASE("processes get generated names") {
  World world;
  const auto made = plan(world, {"--launcher=processes", "--nnodes=2"});
  REQUIRE(made->hosts.size() == 2);
  CHECK(made->hosts[0].name == "node7-0");
  CHECK(made->hosts[1].name == "node7-1");
  CHECK(error_of({"--launcher=processes", "--nnodes=2", "--spares=999999"}).find("more than") !=
        std::string::npos);
}

TEST_CASE("one machine stays one node") {
  CHECK(error_of({"--launcher=local", "--nnodes=2"}) ==
        "cannot use --nnodes=2: this machine alone is one node");
  CHECK(error_of({"--hosts=localhost", "--nnodes=2"}) ==
        "cannot use --nnodes=2: one host is named; name more, or lower it");
  CHECK(has(error_of({"--standalone", "--nnodes=2"}), "one node"));
  CHECK(has(error_of({"--spares=1"}), "there is one machine"));
  CHECK(has(error_of({"--nodes-min=2"}), "there is one node"));
  CHECK(error_of({"--node-rank=1"}) ==
        "cannot use --node-rank=1: there is one node, and its rank is 0");
  CHECK(error_of({"--node-rank=1", "--rdzv-backend=c10d"}) == "no error");
}

TEST_CASE("standard input is for a worker of this machine alone") {
  CHECK(error_of({"--stdin=0"}) == "no error");
  CHECK(error_of({"--hosts=localhost", "--stdin=0"}) == "no error");
  CHECK(
      has(error_of({"--hosts=a,b", "--stdin=0"}), "cannot use --stdin=0: standard input reaches"));
  CHECK(has(error_of({"--launcher=processes", "--nnodes=2", "--stdin=0"}), "cannot use --stdin=0"));
  CHECK(has(error_of(joined({"--insecure-rdzv", "--stdin=0"})), "cannot use --stdin=0"));
}

TEST_CASE("options that contradict hosts are refused or warned about") {
  CHECK(error_of({"--hosts=n1", "--rdzv-endpoint=n1:1"}) ==
        "cannot use --rdzv-endpoint=n1:1: --hosts=n1 names the machines, and their agents are "
        "started from here; leave one of them out");
  CHECK(has(error_of({"--hosts=n1", "--standalone"}), "and --hosts=n1 names others"));
  CHECK(error_of({"--hosts=localhost", "--standalone"}) == "no error");
  CHECK(has(error_of({"--hosts=n1", "--launcher=join"}), "their agents are started from here"));
  CHECK(has(error_of({"--hosts=n1", "--launcher=local"}), "not this machine alone"));
  CHECK(has(error_of({"--launcher=ssh"}), "no hosts are named"));
  World world;
  const auto made = plan(world, {"--hosts=n1", "--node-rank=2", "--local-addr=x"});
  CHECK(made->warnings == Argv{"--node-rank=2 is ignored: ranks follow the order of the hosts",
                               "--local-addr=x is ignored: every host has its own; --iface chooses "
                               "it"});
}

TEST_CASE("how hosts are reached over SSH") {
  World world;
  world.around.environment.emplace_back("SSH_AUTH_SOCK=/tmp/agent");
  const auto plain = plan(world, {"--hosts=n1"}).value().ssh;
  CHECK(plain.transport == launcher::SshTransport::kAuto);
  CHECK(plain.ssh_command.empty());
  CHECK(plain.fanout == 64);
  CHECK(plain.start_timeout == std::chrono::seconds(30));
  CHECK(plain.executable == "/opt/rr/bin/robustrun");
  CHECK(plain.home == "/home/ada");
  CHECK(plain.agent_socket == "/tmp/agent");
  const auto chosen = plan(world, {"--hosts=n1", "--ssh-command=ssh -i 'a b'", "--ssh-fanout=2",
                                   "--ssh-timeout=1m"})
                          .value()
                          .ssh;
  CHECK(chosen.transport == launcher::SshTransport::kOpenSsh);
  CHECK(chosen.ssh_command == Argv{"ssh", "-i", "a b"});
  CHECK(chosen.fanout == 2);
  CHECK(chosen.start_timeout == std::chrono::minutes(1));
  CHECK(plan(world, {"--hosts=n1", "--ssh-transport=libssh2"})->ssh.transport ==
        launcher::SshTransport::kLibssh2);
  CHECK(error_of({"--hosts=n1", "--ssh-command=ssh 'a"}) ==
        "cannot use --ssh-command=ssh 'a: a quote is not closed");
  const auto built_in =
      plan(world, {"--hosts=n1", "--ssh-transport=libssh2", "--ssh-command=ssh -F f"})->ssh;
  CHECK(built_in.transport == launcher::SshTransport::kLibssh2);
  CHECK(built_in.ssh_command == std::vector<std::string>{"ssh", "-F", "f"});
}

TEST_CASE("nodes that are started by hand need a secret, munge, or --insecure-rdzv") {
  World world;
  CHECK(error_of(world, kC10d) ==
        "cannot let other machines in: any process that reaches port 29400 of node1 can join this "
        "run; make "
        "a secret for all of them with `head -c 32 /dev/urandom > FILE; chmod 600 FILE`, and add "
        "--secret-file=FILE on each (or --insecure-rdzv, in a network that you trust)");
  const auto insecure = plan(world, joined({"--insecure-rdzv"}));
  CHECK(insecure->trust == Trust::kNone);
  CHECK(insecure->warnings.empty());
  const auto compat = plan(world, joined({"--compat=torchrun"}));
  CHECK(compat->trust == Trust::kNone);
  CHECK(compat->warnings == Argv{"any process that reaches port 29400 of node1 can join this run, "
                                 "as with torchrun; --secret-file=FILE prevents it"});
  world.machine.kinds["/run/munge/munge.socket.2"] = PathKind::kSocket;
  CHECK(plan(world, kC10d)->trust == Trust::kMunge);
  CHECK(plan(world, joined({"--insecure-rdzv"}))->trust == Trust::kNone);
  world.machine.secrets["k"] = std::string(32, 'k');
  const auto secret = plan(world, joined({"--secret-file=k", "--insecure-rdzv"}));
  CHECK(secret->trust == Trust::kSecret);
  CHECK(secret->secret == std::string(32, 'k'));
  CHECK(secret->warnings == Argv{"--insecure-rdzv has no effect: --secret-file=k is given"});
}

TEST_CASE("an invalid secret is refused") {
  World world;
  world.machine.secrets = {{"short", std::string(kSecretBytesMin - 1, 'k')},
                           {"least", std::string(kSecretBytesMin, 'k')},
                           {"most", std::string(kSecretBytesMax, 'k')},
                           {"long", std::string(kSecretBytesMax + 1, 'k')}};
  CHECK(error_of(world, joined({"--secret-file=none"})) ==
        "cannot use --secret-file=none: it cannot be read: no such file");
  CHECK(
      has(error_of(world, joined({"--secret-file=short"})), "a secret must have 16 to 4096 bytes"));
  CHECK(
      has(error_of(world, joined({"--secret-file=long"})), "a secret must have 16 to 4096 bytes"));
  CHECK(error_of(world, joined({"--secret-file=least"})) == "no error");
  CHECK(error_of(world, joined({"--secret-file=most"})) == "no error");
}

TEST_CASE("a meeting of nodes") {
  World world;
  const auto made = plan(world, {"--nnodes=2:4", "--node-rank=1", "--master-addr=node1",
                                 "--insecure-rdzv", "--rdzv-conf=timeout=7,last_call_timeout=3"});
  REQUIRE(made.has_value());
  CHECK(made->min_nodes == 2);
  CHECK(made->max_nodes == 4);
  CHECK(made->meeting->part == Meeting::Part::kGuest);
  CHECK(made->wait_for_nodes == std::chrono::seconds(7));
  CHECK(made->last_call == std::chrono::seconds(3));
  CHECK(plan(world, joined({"--insecure-rdzv", "--rdzv-conf=join_timeout=7", "--wait-for-nodes=9"}))
            ->wait_for_nodes == std::chrono::seconds(9));
  CHECK(has(error_of(joined({"--spares=1"})), "machines that join beyond --nnodes are spares"));
  CHECK(has(error_of({"--launcher=join", "--standalone"}), "this machine alone"));
  CHECK(has(error_of({"--nnodes=2"}), "the nodes have no place to meet"));
  CHECK(has(error_of(joined({"--include=x"})), "no hosts are named"));
}

TEST_CASE("in compat mode nodes are awaited as long as torchrun does") {
  World world;
  const auto wait = [&](Argv argv) {
    argv.insert(argv.begin(), {"--nnodes=2", "--insecure-rdzv", "--rdzv-endpoint=node1:29400"});
    return plan(world, argv).value().wait_for_nodes;
  };
  CHECK(wait({"--compat=torchrun"}) == std::chrono::minutes(15));
  CHECK(wait({"--compat=torchrun", "--rdzv-backend=c10d"}) == std::chrono::minutes(10));
  CHECK(wait({"--compat=torchrun", "--rdzv-conf=timeout=7"}) == std::chrono::seconds(7));
  CHECK(wait({"--compat=torchrun", "--wait-for-nodes=9"}) == std::chrono::seconds(9));
  CHECK(wait({}) == std::chrono::minutes(10));
}

TEST_CASE("times of the lease") {
  World world;
  const auto plain = plan(world, {}).value();
  CHECK(plain.lease.interval == std::chrono::seconds(1));
  CHECK(plain.lease.suspect_after == std::chrono::seconds(3));
  CHECK(plain.lease.lost_after == std::chrono::seconds(10));
  CHECK(plain.lease.orphan_grace == std::chrono::minutes(10));
  CHECK(plain.wait_for_nodes == std::chrono::minutes(10));
  CHECK(plan(world, {"--heartbeat-interval=0.1", "--node-suspect-after=0.2"})->lease.interval ==
        kHeartbeatIntervalMin);
  CHECK(has(error_of({"--heartbeat-interval=0.09"}), "at least 100 ms"));
  CHECK(has(error_of({"--heartbeat-interval=2"}), "at least twice --heartbeat-interval"));
  CHECK(has(error_of({"--node-lost-after=3"}), "longer than --node-suspect-after"));
}

TEST_CASE("the rest: interface, folding, filter of ranks") {
  World world;
  const auto made = plan(world, {"--iface=eth0.7", "--fold-lines", "--ranks-filter=8-15,0,3,2"});
  CHECK(made->interface == "eth0.7");
  CHECK(made->fold_lines);
  CHECK(made->shown_ranks == std::vector<RankRange>{{0, 0}, {2, 3}, {8, 15}});
  CHECK(plan(world, {})->shown_ranks.empty());
  CHECK(has(error_of({"--iface=a b"}), "not a name of a network interface"));
  CHECK(has(error_of({"--iface=averyveryverylongname"}), "not a name of a network interface"));
  CHECK(error_of({"--ranks-filter=0,x"}) ==
        "cannot use --ranks-filter=0,x: 'x' is neither a rank nor a range; write 0,8-15");
}

TEST_CASE("sets of ranks") {
  CHECK(parse_rank_ranges("").value().empty());
  CHECK(parse_rank_ranges("5").value() == std::vector<RankRange>{{5, 5}});
  CHECK(parse_rank_ranges(" 4 - 9 , 6-20").value() == std::vector<RankRange>{{4, 20}});
  for (const char* bad : {",", "-", "1-", "-1", "3-2", "a", "1,,2", "99999999999"}) {
    INFO(bad);
    CHECK_FALSE(parse_rank_ranges(bad).has_value());
  }
  std::string many = "0";
  for (std::size_t i = 1; i < kRankRangesMax; ++i) many += "," + std::to_string(2 * i);
  CHECK(parse_rank_ranges(many)->size() == kRankRangesMax);
  CHECK_FALSE(parse_rank_ranges(many + ",99999").has_value());
}

TEST_CASE("--expect-world is left to the core where hosts count for themselves") {
  World world;
  const auto settings = world.merge({"--hosts=a,b", "--expect-world=16", "s"}).value();
  const auto nodes = plan_nodes(settings, world.around).value();
  CHECK(check_world(settings, nodes, 0).has_value());
}

TEST_CASE("--expect-world is compared with what would be started") {
  World world;
  world.machine.files["hosts"] = "n[1-3] slots=4\nn4\n";
  const auto judge = [&](Argv argv) -> std::string {
    argv.emplace_back("s");
    const auto settings = world.merge(argv).value();
    const auto nodes = plan_nodes(settings, world.around).value();
    const auto judged = check_world(settings, nodes, 2);
    return judged ? "fine" : judged.error().what;
  };
  CHECK(judge({}) == "fine");
  CHECK(judge({"--expect-world=2"}) == "fine");
  CHECK(judge({"--expect-world=8"}) ==
        "cannot use --expect-world=8: there would be 2 workers on 1 node");
  CHECK(judge({"--hostfile=hosts", "--expect-world=14"}) == "fine");
  CHECK(judge({"--hostfile=hosts", "--nnodes=2", "--expect-world=8"}) == "fine");
  CHECK(judge({"--hosts=a,b", "--expect-world=16"}) ==
        "cannot use --expect-world=16: there would be 4 workers on 2 nodes");
}

}  // namespace robustrun::cli::plan_nodes_test
