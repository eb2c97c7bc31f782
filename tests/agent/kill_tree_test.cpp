// The shim against trees that resist, without an agent that could help.

#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <vector>

#include "base/io/child.h"
#include "tests/agent/process_tree.h"
#include "tests/paths.h"

namespace robustrun::agent::kill_tree_test {
namespace {

const std::string kShim = built_program("robustrun-shim");
const std::string kTree = test_helper("shim_tree");
const std::string kAgent = test_helper("shim_agent");

// The stand-in for the agent, and its tree. This process does not adopt orphans: a process that
// survived the shim would keep the pipe open.
struct StandIn {
  boost::asio::io_context loop{1};
  TreePipe out;
  std::unique_ptr<base::Child> agent;
  bool dead = false;

  explicit StandIn(std::vector<std::string> worker, std::string helper = kAgent) {
    base::ChildOptions options;
    options.executable = helper;
    options.argv = {helper, kShim};
    options.argv.insert(options.argv.end(), worker.begin(), worker.end());
    options.environment = {"PATH=/usr/bin:/bin"};
    options.descriptors = {-1, out.write_fd(), -1};
    auto started =
        base::Child::spawn(loop.get_executor(), options, [this](base::ExitStatus) { dead = true; });
    REQUIRE_MESSAGE(started.has_value(), started.error().what);
    agent = *std::move(started);
    out.close_write_end();
  }
  // Time from the agent's death until nothing was left.
  std::optional<Milliseconds> kill_agent() {
    if (!agent->signal(SIGKILL)) return std::nullopt;
    if (!run_until(loop, [&] { return dead; })) return std::nullopt;
    return out.wait_for_end();
  }
};

TEST_CASE("SIGKILL of the agent leaves nothing of a tree of 20 sessions") {
  StandIn run({kTree, "family", "20"});
  REQUIRE(run.out.wait_for_bytes(21));
  const auto took = run.kill_agent();
  REQUIRE(took);
  MESSAGE("20 processes gone after ", took->count(), " ms");
  CHECK(*took < kGoneWithin);
}

TEST_CASE("SIGKILL of the agent leaves nothing of a worker that ignores signals") {
  StandIn run({kTree, "stubborn"});
  REQUIRE(run.out.wait_for_bytes(1));
  const auto took = run.kill_agent();
  REQUIRE(took);
  CHECK(*took < kGoneWithin);
}

TEST_CASE("a fork bomb whose processes replace each other is ended") {
  StandIn run({kTree, "bomb", "200"});
  REQUIRE(run.out.wait_for_bytes(200));
  const auto took = run.kill_agent();
  REQUIRE(took);
  MESSAGE("a bomb of 200 processes gone after ", took->count(), " ms");
  CHECK(*took < kGoneWithin);
}

TEST_CASE("a process that flees from session to session is ended") {
  StandIn run({kTree, "chain"});
  REQUIRE(run.out.wait_for_bytes(2));
  const auto took = run.kill_agent();
  REQUIRE(took);
  MESSAGE("gone after ", took->count(), " ms");
  CHECK(*took < kGoneWithin);
}

TEST_CASE("a shim without an agent starts nothing") {
  // Descriptor 3 is not its parent's socket, so the shim takes its agent for dead.
  boost::asio::io_context loop{1};
  TreePipe out;
  std::optional<base::ExitStatus> status;
  base::ChildOptions options;
  options.executable = kShim;
  options.argv = {kShim, "--", kTree, "family", "1", "0"};
  options.descriptors = {-1, out.write_fd(), -1};
  auto shim =
      base::Child::spawn(loop.get_executor(), options, [&](base::ExitStatus end) { status = end; });
  REQUIRE(shim);
  out.close_write_end();
  REQUIRE(run_until(loop, [&] { return status.has_value(); }));
  CHECK(*status == base::ExitStatus{base::ExitStatus::Kind::kExited, 2});
  CHECK(out.wait_for_end());
  CHECK(out.text().empty());
}

}  // namespace
}  // namespace robustrun::agent::kill_tree_test
