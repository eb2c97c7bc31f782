// A node's part of a replay: what is run, with which ranks, what is reported, and what remains.
#include "agent/preflight/replay.h"

#include <doctest/doctest.h>

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <vector>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/strays.h"
#include "tests/paths.h"
#include "tests/scratch_folder.h"
#include "tests/support/loop.h"

namespace robustrun::agent::replay_test {
namespace {

using Outcome = wire::NodeReplayed::Outcome;
using Words = std::vector<std::string>;
using std::chrono::milliseconds;
using std::chrono::seconds;

struct Node {
  Node() {
    base::become_subreaper();
    node.workers.environment = {"PATH=/usr/bin:/bin"};
    node.workers.working_directory = home.path();
    node.workers.log_directory = home / "logs";
    replay.emplace(node);
  }

  // A shell script with that many slots: the group's ranks 2, 3, …
  static wire::ReplayNode order(const std::string& script, std::uint32_t slots = 1) {
    wire::ReplayNode order;
    order.replay = 7;
    order.limit = seconds(20);
    order.command = {"sh", "-c", script};
    for (std::uint32_t i = 0; i < slots; ++i) {
      order.slots.push_back({base::Rank{2 + i}, base::LocalRank{i}, 2 + i});
    }
    order.group_rank = 1;
    order.group_world_size = 2;
    order.world_size = 2 + slots;
    order.master_addr = "10.0.0.2";
    order.master_port = 4002;
    return order;
  }
  const wire::NodeReplayed& wait(std::size_t count = 1) {
    REQUIRE(loop.run_until([&] { return reports.size() >= count; }));
    return reports.back();
  }
  [[nodiscard]] std::string text(const std::string& name) const {
    return base::read_file(home / name, 4096).value_or("");
  }
  [[nodiscard]] bool wait_for_file(const std::string& name) {
    return loop.run_until([&] { return text(name).ends_with('\n'); });
  }
  // Whether the process whose pid is in the file lives.
  [[nodiscard]] bool lives(const std::string& name) const {
    return ::kill(std::stoi(text(name)), 0) == 0;
  }

  test::ScratchFolder home;
  test::Loop loop;
  base::SystemClock clock;
  base::BlockingPool pool{loop.executor(), 1, 16};
  std::vector<wire::NodeReplayed> reports;
  NodeContext node{.executor = loop.executor(),
                   .clock = clock,
                   .pool = pool,
                   .send =
                       [this](const wire::Message& message) {
                         reports.push_back(std::get<wire::NodeReplayed>(message));
                       },
                   .shim = built_program("robustrun-shim"),
                   .runtime_directory = home.path(),
                   .workers = {}};
  std::optional<Replay> replay;
};

TEST_CASE("every slot runs the program with its rank, and its output is kept") {
  Node node;
  node.replay->start(Node::order(
      "echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR $MASTER_PORT; echo e >&2",
      2));
  const wire::NodeReplayed& report = node.wait();
  CHECK(report.replay == 7);
  CHECK(report.outcome == Outcome::kPassed);
  CHECK(report.why.empty());
  CHECK(node.text("logs/replay_7/0.log") == "2 0 4 2 10.0.0.2 4002\ne\n");
  CHECK(node.text("logs/replay_7/1.log") == "3 1 4 2 10.0.0.2 4002\ne\n");
}

TEST_CASE("the first failure is reported, with the exit codes of all failed processes") {
  Node node;
  node.replay->start(Node::order("exit $((8 + LOCAL_RANK))", 3));
  const wire::NodeReplayed& report = node.wait();
  CHECK(report.outcome == Outcome::kFailed);
  CHECK(report.codes.size() == 3);
  CHECK(report.why.find(": exit code ") != std::string::npos);
}

TEST_CASE("a program that does not end is killed with all its children, and has failed") {
  Node node;
  wire::ReplayNode order = Node::order("sleep 3000 & echo $! > child; wait");
  order.limit = seconds(3);
  node.replay->start(order);
  REQUIRE(node.wait_for_file("child"));
  const wire::NodeReplayed& report = node.wait();
  CHECK(report.outcome == Outcome::kFailed);
  CHECK(report.why == "it did not end within 3 s");
  CHECK(report.codes.empty());
  CHECK_FALSE(node.lives("child"));
}

TEST_CASE("an end, or another order, leaves nothing behind and reports nothing") {
  for (const bool another : {false, true}) {
    Node node;
    node.replay->start(Node::order("sleep 3000 & echo $! > child; wait"));
    REQUIRE(node.wait_for_file("child"));
    if (another) {
      wire::ReplayNode next = Node::order("exit 0");
      next.replay = 8;
      node.replay->start(next);
      CHECK(node.wait().replay == 8);
    } else {
      node.replay->end();
    }
    CHECK(node.loop.run_until([&] { return !node.lives("child"); }));
    CHECK(node.reports.size() == (another ? 1 : 0));
  }
}

TEST_CASE("the same order again starts nothing twice, and is answered again") {
  Node node;
  const wire::ReplayNode order = Node::order("echo x >> runs; exit 3");
  node.replay->start(order);
  node.replay->start(order);
  node.wait();
  node.replay->start(order);
  CHECK(node.reports.size() == 2);
  CHECK(node.reports[1].codes == std::vector<std::int32_t>{3});
  CHECK(node.text("runs") == "x\n");
}

TEST_CASE("a program that cannot be started is no failure of the node") {
  Node node;
  wire::ReplayNode order = Node::order("");
  order.command = {"/nowhere/program"};
  node.replay->start(order);
  CHECK(node.wait().outcome == Outcome::kNotRun);
  order.replay = 8;
  order.command = {};  // the alignment test, but no interpreter is known
  node.replay->start(order);
  CHECK(node.wait(2).outcome == Outcome::kNotRun);
  CHECK(node.reports[1].why ==
        "cannot replay: the alignment test needs Python, and the workers use none that is known");
}

TEST_CASE("the order's words become a program as the command line's do") {
  wire::WorkerTemplate workers;
  workers.mode = wire::LaunchMode::kScript;
  workers.interpreter = "/usr/bin/python3";
  workers.python_path = "/share/python";
  workers.program = "train.py";
  workers.arguments = {"--layers", "80"};
  wire::ReplayNode order;
  order.limit = seconds(100);
  const auto align = replay_template(workers, order, true);
  REQUIRE(align);
  CHECK(align->mode == wire::LaunchMode::kModule);
  CHECK(align->program == "robustrun.align");
  CHECK(align->arguments == Words{"--limit", "90"});
  order.command = {"small.py", "--layers", "4"};
  const auto script = replay_template(workers, order, false);
  REQUIRE(script);
  CHECK(script->mode == wire::LaunchMode::kScript);
  CHECK(script->program == "small.py");
  CHECK(script->arguments == Words{"--layers", "4"});
  CHECK_FALSE(replay_template(workers, order, true));
  order.command = {"-m", "small", "x"};
  CHECK(replay_template(workers, order, false)->mode == wire::LaunchMode::kModule);
  CHECK(replay_template(workers, order, false)->program == "small");
  CHECK(replay_template(workers, order, false)->arguments == Words{"x"});
  order.command = {"./small"};
  CHECK(replay_template(workers, order, false)->mode == wire::LaunchMode::kExecutable);
  order.command = {"small.py"};
  workers.interpreter.clear();
  CHECK_FALSE(replay_template(workers, order, false));
}

}  // namespace
}  // namespace robustrun::agent::replay_test
