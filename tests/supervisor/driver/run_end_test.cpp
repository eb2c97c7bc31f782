// How a run ends: with its agents, or without those that do not end.
#include "supervisor/driver/run_end.h"

#include <doctest/doctest.h>

#include <optional>
#include <utility>
#include <vector>

#include "tests/support/loop.h"

namespace robustrun::supervisor::test::run_end_test {
namespace {

using namespace std::chrono_literals;

struct Ending {
  explicit Ending(const RunEnd::Times& times = {}) {
    RunEnd::Hands hands;
    hands.are_agents_gone = [this] { return have_left; };
    hands.kill_agents = [this] { ++kills; };
    hands.flush = [this](std::function<void()> done) {
      ++flushes;
      flushed = std::move(done);
    };
    hands.on_finished = [this](int code) { finished.push_back(code); };
    end.emplace(loop.executor(), times, std::move(hands));
  }

  robustrun::test::Loop loop{};
  bool have_left = false;
  int kills = 0, flushes = 0;
  std::function<void()> flushed;
  std::vector<int> finished;
  std::optional<RunEnd> end;
};

TEST_CASE("a run whose agents have ended waits for its output alone") {
  Ending run;
  run.have_left = true;
  run.end->on_agent_left();
  CHECK(run.flushes == 0);  // it is not over yet
  CHECK(run.end->begin(3));
  CHECK(run.end->is_over());
  run.end->wait_for_agents();
  REQUIRE(run.flushes == 1);
  CHECK(run.finished.empty());
  run.flushed();
  CHECK(run.finished == std::vector{3});
}

TEST_CASE("the last agent that leaves ends the run, once") {
  Ending run;
  CHECK(run.end->begin(0));
  run.end->wait_for_agents();
  run.end->on_agent_left();
  CHECK(run.flushes == 0);
  run.have_left = true;
  run.end->on_agent_left();
  run.end->on_agent_left();
  CHECK(run.flushes == 1);
  CHECK(run.kills == 0);
}

TEST_CASE("agents that do not end are killed, and then not waited for any more") {
  Ending run({1ms, 1ms});
  CHECK(run.end->begin(1));
  run.end->wait_for_agents();
  REQUIRE(run.loop.run_until([&] { return run.flushes == 1; }));
  CHECK(run.kills == 1);
  run.flushed();
  CHECK(run.finished == std::vector{1});
}

TEST_CASE("the first reason to end counts") {
  Ending run;
  CHECK(run.end->begin(1));
  CHECK_FALSE(run.end->begin(0));
  CHECK(run.end->exit_code() == 1);
}

}  // namespace
}  // namespace robustrun::supervisor::test::run_end_test
