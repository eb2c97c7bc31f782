#include "cli/nodes/rendezvous.h"

#include <doctest/doctest.h>

#include "cli/nodes/node_range.h"
#include "tests/cli/fakes.h"

namespace robustrun::cli::rendezvous_test {

using testing::World;

namespace {

base::Result<Rendezvous> plan(const World& world, const std::vector<std::string>& argv) {
  return plan_rendezvous(world.merge(argv).value(), world.around);
}

std::string error_of(const std::vector<std::string>& argv) {
  World world;
  world.network.taken_ports = {29500};
  const auto made = plan(world, argv);
  return made ? "no error" : made.error().what;
}

}  // namespace

TEST_CASE("the grammar of --nnodes") {
  CHECK(*parse_nnodes("1") == std::pair(1U, 1U));
  CHECK(*parse_nnodes("1:4") == std::pair(1U, 4U));
  CHECK(parse_nnodes("banana").error().what.starts_with(
      R"(nnodes=banana is not in "MIN:MAX" format)"));
  for (const char* bad : {"", "1:2:3", ":", "1:", "0", "0:2", "3:2", "-1", "1.5"}) {
    INFO(bad);
    CHECK_FALSE(parse_nnodes(bad).has_value());
  }
}

TEST_CASE("the grammar of endpoints") {
  const auto is = [](const char* text, const char* host, int port) {
    const auto endpoint = parse_endpoint(text);
    return endpoint && endpoint->host == host && endpoint->port == port;
  };
  CHECK(is("node1:29500", "node1", 29500));
  CHECK(is("node1", "node1", 0));
  CHECK(is("[::1]:29400", "::1", 29400));
  CHECK(is("[fe80::1%eth0]", "fe80::1%eth0", 0));
  CHECK(is("10.0.0.1:", "10.0.0.1", 0));
  for (const char* bad : {"", ":1", "a b:1", "host:x", "host:70000", "host:-1", "[::1", "[::1]x",
                          "host/path:1", "::1", "::1:29400"}) {
    INFO(bad);
    CHECK_FALSE(parse_endpoint(bad).has_value());
  }
}

TEST_CASE("the rendezvous configuration needs a value for each key") {
  CHECK(check_rdzv_conf("").has_value());
  CHECK(check_rdzv_conf(" timeout=900 , join_timeout=5").has_value());
  CHECK(check_rdzv_conf("a=b=c").has_value());
  for (const char* bad : {"a", "a=", "=b", "a=1,", ",", "a=1,,b=2"}) {
    INFO(bad);
    CHECK_FALSE(check_rdzv_conf(bad).has_value());
  }
}

TEST_CASE("one node without a port is standalone (docs/compat.md)") {
  World world;
  struct Row {
    std::vector<std::string> argv;
    bool standalone;
    std::string addr;
    int port;
  };
  const std::vector<Row> rows = {
      {{"s"}, true, "", 0},
      {{"--standalone", "s"}, true, "", 0},
      {{"--standalone", "--master-port=4000", "--rdzv-endpoint=h:1", "s"}, true, "", 0},
      {{"--master-port=4000", "s"}, false, "127.0.0.1", 4000},
      {{"--master-addr=node1", "s"}, true, "node1", 0},
      {{"--master-addr=node1", "--master-port=4000", "s"}, false, "node1", 4000},
      {{"--rdzv-endpoint=node1:4000", "s"}, false, "node1", 4000},
      {{"--rdzv-endpoint=[::1]:4000", "--master-port=1", "s"}, false, "::1", 4000},
      {{"--rdzv-backend=c10d", "--rdzv-endpoint=localhost:29400", "s"}, false, "", 0},
      {{"--rdzv-backend=c10d", "s"}, false, "", 0},
  };
  for (const Row& row : rows) {
    const auto made = plan(world, row.argv);
    INFO(row.argv[0]);
    REQUIRE(made.has_value());
    CHECK(made->standalone == row.standalone);
    CHECK(made->master_addr == row.addr);
    CHECK(made->master_port == row.port);
    CHECK(made->node_address == "127.0.0.1");
  }
  CHECK(plan(world, {"--local-addr=10.0.0.3", "s"})->node_address == "10.0.0.3");
  CHECK(plan(world, {"--compat=torchrun", "s"})->node_address == "localhost");
}

TEST_CASE("--rdzv-id counts when it says something") {
  World world;
  CHECK(plan(world, {"--rdzv-id=exp1", "s"})->id == "exp1");
  CHECK(plan(world, {"--rdzv-id=none", "s"})->id.empty());
  CHECK(plan(world, {"--rdzv-id=", "s"})->id.empty());
  CHECK(plan(world, {"s"})->id.empty());
}

TEST_CASE("impossible options are refused before anything starts") {
  CHECK(error_of({"--nnodes=x", "s"}).starts_with("cannot use --nnodes=x: nnodes=x is not in"));
  CHECK(error_of({"--rdzv-backend=etcd", "s"}).find("etcd is not supported") != std::string::npos);
  CHECK(error_of({"--rdzv-backend=etcd-v2", "s"}).find("not supported") != std::string::npos);
  CHECK(error_of({"--rdzv-backend=c10", "s"}).find("did you mean c10d?") != std::string::npos);
  CHECK(error_of({"--rdzv-conf=a", "s"}).starts_with("cannot use --rdzv-conf=a: 'a' is not"));
  CHECK(error_of({"--rdzv-endpoint=h:x", "s"}).starts_with("cannot use --rdzv-endpoint=h:x: "));
  CHECK(error_of({"--master-port=29500", "s"}) ==
        "cannot use --master-port=29500: port 29500 is in use by pid 12 (python3) of user ada; "
        "choose another one, or leave the option out to get a free one");
  CHECK(error_of({"--rdzv-endpoint=localhost:29500", "s"}).find("pid 12") != std::string::npos);
  CHECK(error_of({"--rdzv-backend=c10d", "--rdzv-endpoint=localhost:29500", "s"}) == "no error");
}

TEST_CASE("options without effect beside another one are warned about") {
  World world;
  const auto made = plan(world, {"--rdzv-backend=c10d", "--node-rank=1", "--master-port=5", "s"});
  REQUIRE(made.has_value());
  REQUIRE(made->warnings.size() == 2);
  CHECK(made->warnings[0].starts_with("--node-rank=1 is ignored"));
  CHECK(made->warnings[1].starts_with("--master-port=5 is ignored"));
  CHECK(plan(world, {"s"})->warnings.empty());
}

TEST_CASE(
    "over several machines the agents know their own addresses, and no port is checked here") {
  World world;
  world.network.taken_ports = {29500, 4000};
  const auto with = [&](const std::vector<std::string>& argv, Where where) {
    return plan_rendezvous(world.merge(argv).value(), world.around, where).value();
  };
  const Rendezvous plain = with({"s"}, Where::kHosts);
  CHECK_FALSE(plain.standalone);
  CHECK(plain.master_addr.empty());
  CHECK(plain.master_port == 0);
  CHECK(plain.node_address.empty());
  const Rendezvous named = with({"--master-addr=node1", "--master-port=4000", "s"}, Where::kHosts);
  CHECK(named.master_addr == "node1");
  CHECK(named.master_port == 4000);
  const Rendezvous joined = with({"--master-addr=node1", "s"}, Where::kMeeting);
  CHECK(joined.master_addr == "node1");
  CHECK(joined.master_port == 29500);
  CHECK(with({"--rdzv-endpoint=node1", "s"}, Where::kMeeting).master_port == 29500);
  CHECK(with({"--local-addr=10.0.0.3", "s"}, Where::kMeeting).node_address == "10.0.0.3");
  const Rendezvous c10d =
      with({"--rdzv-backend=c10d", "--rdzv-endpoint=node1:4000", "s"}, Where::kMeeting);
  CHECK(c10d.master_addr.empty());
  CHECK(c10d.master_port == 0);
}

namespace {

using Part = Meeting::Part;

base::Result<Meeting> meet(const World& world, std::vector<std::string> argv) {
  argv.insert(argv.begin(), "--nnodes=2:4");
  argv.emplace_back("s");
  return plan_meeting(world.merge(argv).value(), world.around);
}

std::string meeting_error(const std::vector<std::string>& argv) {
  World world;
  world.network.taken_ports = {4001, 29400};
  const auto made = meet(world, argv);
  return made ? "no error" : made.error().what;
}

}  // namespace

TEST_CASE("with c10d the machine of the endpoint's address leads, on the endpoint's port") {
  World world;
  const auto part = [&](const std::string& endpoint) {
    return meet(world, {"--rdzv-backend=c10d", "--rdzv-endpoint=" + endpoint}).value().part;
  };
  for (const char* here : {"localhost:29400", "node7", "10.0.0.7:29400", "127.0.0.1", "alias7",
                           "[fd00::7]:29400", "[::1]"}) {
    INFO(here);
    CHECK(part(here) == Part::kEither);
  }
  CHECK(part("node1:29400") == Part::kGuest);
  CHECK(part("10.0.0.1") == Part::kGuest);
  const auto made = meet(world, {"--rdzv-backend=c10d", "--rdzv-endpoint=node1", "--rdzv-id=x"});
  CHECK(made->control.host == "node1");
  CHECK(made->control.port == 29400);
  CHECK(made->addresses == std::vector<std::string>{"10.0.0.1"});
  CHECK(made->id == "x");
  CHECK_FALSE(made->node_rank.has_value());
}

TEST_CASE("a second robustrun on the leading machine joins the first") {
  World world;
  world.network.taken_ports = {29400};
  CHECK(meet(world, {"--rdzv-backend=c10d", "--rdzv-endpoint=localhost"})->part == Part::kGuest);
}

TEST_CASE("with static node 0 leads, on the port after MASTER_PORT") {
  World world;
  const auto first = meet(world, {"--node-rank=0", "--master-addr=node1", "--master-port=4000"});
  CHECK(first->part == Part::kHost);
  CHECK(first->node_rank == 0);
  CHECK(first->control.host == "node1");
  CHECK(first->control.port == 4001);
  CHECK(first->id == "none");
  const auto second = meet(world, {"--node-rank=3", "--rdzv-endpoint=node1:4000"});
  CHECK(second->part == Part::kGuest);
  CHECK(second->node_rank == 3);
  CHECK(second->control.port == 4001);
  CHECK(meet(world, {"--node-rank=1", "--master-addr=node1"})->control.port == 29501);
  CHECK(meet(world, {"--node-rank=1", "--master-addr=a", "--master-port=65535"})->control.port ==
        65534);
  // Without ranks the address decides.
  CHECK(meet(world, {"--rdzv-endpoint=10.0.0.7:4000"})->part == Part::kEither);
  CHECK(meet(world, {"--rdzv-endpoint=node1:4000"})->part == Part::kGuest);
}

TEST_CASE("the leader needs MASTER_PORT as well, and names the process that has it") {
  World world;
  world.network.taken_ports = {4000};
  const std::string busy =
      "cannot lead the other nodes from here: port 4000 is in use by pid 12 (python3) of user ada; "
      "choose another port on every node";
  const auto error = [&](const std::vector<std::string>& argv) {
    const auto made = meet(world, argv);
    return made ? "no error" : made.error().what;
  };
  CHECK(error({"--node-rank=0", "--master-addr=node1", "--master-port=4000"}) == busy);
  CHECK(error({"--rdzv-endpoint=node7:4000"}) == busy);
  CHECK(error({"--node-rank=1", "--rdzv-endpoint=node7:4000"}) == "no error");
  // The run that leads from here already has both.
  world.network.taken_ports = {4000, 4001};
  CHECK(error({"--rdzv-endpoint=node7:4000"}) == "no error");
}

TEST_CASE("a guest may start before its leader's name is known") {
  World world;
  for (const std::vector<std::string>& argv :
       {std::vector<std::string>{"--node-rank=1", "--master-addr=later"},
        {"--rdzv-backend=c10d", "--rdzv-endpoint=later"}}) {
    const auto made = meet(world, argv);
    CHECK(made->part == Part::kGuest);
    CHECK(made->addresses.empty());
  }
}

TEST_CASE("is_host and the time-outs of --rdzv-conf count") {
  World world;
  const std::vector<std::string> argv = {"--rdzv-backend=c10d", "--rdzv-endpoint=node1"};
  const auto with = [&](const std::string& conf) {
    auto all = argv;
    all.push_back("--rdzv-conf=" + conf);
    return meet(world, all).value();
  };
  CHECK(with("is_host=True").part == Part::kHost);
  CHECK(with("is_host=0").part == Part::kGuest);
  CHECK(with("join_timeout=5, last_call_timeout=1.5").join_timeout == std::chrono::seconds(5));
  CHECK(with("join_timeout=5, last_call_timeout=1.5").last_call == std::chrono::milliseconds(1500));
  CHECK_FALSE(with("timeout=5").join_timeout.has_value());
  CHECK(meet(world, {"--master-addr=node1", "--rdzv-conf=timeout=5"})->join_timeout ==
        std::chrono::seconds(5));
  CHECK(meeting_error({argv[0], argv[1], "--rdzv-conf=is_host=maybe"}).find("neither true") !=
        std::string::npos);
  CHECK(meeting_error({argv[0], argv[1], "--rdzv-conf=join_timeout=x"}).find("not a number of") !=
        std::string::npos);
}

TEST_CASE("an impossible meeting is refused") {
  CHECK(meeting_error({}).starts_with(
      "cannot use --nnodes=2:4: the nodes have no place to meet; start the same command"));
  CHECK(meeting_error({"--rdzv-backend=c10d"}).find("no place to meet") != std::string::npos);
  CHECK(meeting_error({"--node-rank=4", "--master-addr=node1"}) ==
        "cannot use --node-rank=4: with 4 nodes the ranks are 0 to 3");
  CHECK(meeting_error({"--node-rank=0", "--master-addr=node1", "--master-port=4000"}) ==
        "cannot lead the other nodes from here: port 4001 is in use by pid 12 (python3) of user "
        "ada (with static the port after MASTER_PORT is needed); choose another port on every "
        "node");
  CHECK(meeting_error({"--rdzv-backend=c10d", "--rdzv-endpoint=node1", "--rdzv-conf=is_host=1"})
            .starts_with("cannot lead the other nodes from here: port 29400 is in use"));
}

}  // namespace robustrun::cli::rendezvous_test
