// When the workers of an attempt may start.
#include "agent/worker/preparation.h"

#include <doctest/doctest.h>

#include <optional>
#include <utility>
#include <vector>

#include "tests/agent/fake_node.h"

namespace robustrun::agent::preparation_test {
namespace {

struct Prepared : test::FakeNode {
  // `staged`: files that must be here first.
  explicit Prepared(std::vector<std::string> staged = {}) {
    node.workers.stage = node.started_with.stage = std::move(staged);
    stage.emplace(node, peers);
    preparation.emplace(node, peers, *stage, [] {});
  }
  void begin(std::uint32_t attempt) {
    preparation->begin_attempt(
        order(attempt), [this] { return is_wanted; },
        [this](base::Status how) { went.push_back(std::move(how)); });
  }

  BlockPeers peers{node};
  std::optional<StageFiles> stage;
  std::optional<Preparation> preparation;
  bool is_wanted = true;
  std::vector<base::Status> went;
};

TEST_CASE("where nothing is asked for, an attempt starts soon") {
  Prepared run;
  run.begin(0);
  REQUIRE(run.loop.run_until([&] { return !run.went.empty(); }));
  CHECK(run.went[0]);
  CHECK(run.node.workers.program == "/bin/true");
  CHECK(run.processes.started.empty());
}

TEST_CASE("a staged file that is nowhere is the reason why no worker starts") {
  Prepared run({"/nowhere/at/all/data.bin"});
  run.begin(0);
  REQUIRE(run.loop.run_until([&] { return !run.went.empty(); }));
  REQUIRE_FALSE(run.went[0]);
  CHECK(run.went[0].error().what.find("/nowhere/at/all/data.bin") != std::string::npos);
}

TEST_CASE("an attempt that is revoked meanwhile does not start, and the next one does") {
  Prepared run({"/nowhere/at/all/data.bin"});
  run.begin(0);
  run.is_wanted = false;
  bool ended = false;
  run.preparation->end_attempt();
  run.begin(1);
  run.loop.run_for(std::chrono::milliseconds(20));
  CHECK(run.went.empty());
  run.is_wanted = true;
  run.begin(2);
  REQUIRE(run.loop.run_until([&] { return !run.went.empty(); }));
  CHECK(run.went.size() == 1);
  run.preparation->end([&] { ended = true; });
  CHECK(run.loop.run_until([&] { return ended; }));
}

TEST_CASE("standby workers of a spare node need no staged files") {
  Prepared run({"/nowhere/at/all/data.bin"});
  run.preparation->begin_standbys([&](base::Status how) { run.went.push_back(std::move(how)); });
  REQUIRE(run.loop.run_until([&] { return !run.went.empty(); }));
  CHECK(run.went[0]);
}

}  // namespace
}  // namespace robustrun::agent::preparation_test
