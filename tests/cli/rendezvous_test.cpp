#include "cli/rendezvous.h"

#include <doctest/doctest.h>

#include "fakes.h"

namespace robustrun::cli {

using testing::World;

namespace {

base::Result<Rendezvous> plan(const World& world, const std::vector<std::string>& argv) {
  return plan_rendezvous(world.merge(argv).value(), world.around);
}

std::string error_of(const std::vector<std::string>& argv) {
  World world;
  world.machine.taken_ports = {29500};
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
  for (const char* bad :
       {"", ":1", "a b:1", "host:x", "host:70000", "host:-1", "[::1", "[::1]x", "host/path:1"}) {
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

TEST_CASE("one node without a port is standalone (torchrun.md a.1.3)") {
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

TEST_CASE("what cannot be done is said before anything starts") {
  CHECK(error_of({"--nnodes=2", "s"}) ==
        "cannot use --nnodes=2: not yet: more than one node; this version runs jobs on one machine "
        "(--nnodes=1)");
  CHECK(error_of({"--nnodes=1:4", "s"}).find("not yet") != std::string::npos);
  CHECK(error_of({"--nnodes=x", "s"}).starts_with("cannot use --nnodes=x: nnodes=x is not in"));
  CHECK(error_of({"--node-rank=1", "s"}).starts_with("cannot use --node-rank=1: there is one"));
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

TEST_CASE("options that another one makes useless are warned about") {
  World world;
  const auto made = plan(world, {"--rdzv-backend=c10d", "--node-rank=1", "--master-port=5", "s"});
  REQUIRE(made.has_value());
  REQUIRE(made->warnings.size() == 2);
  CHECK(made->warnings[0].starts_with("--node-rank=1 is ignored"));
  CHECK(made->warnings[1].starts_with("--master-port=5 is ignored"));
  CHECK(plan(world, {"s"})->warnings.empty());
}

}  // namespace robustrun::cli
