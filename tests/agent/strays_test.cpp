#include "base/io/strays.h"

#include <doctest/doctest.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "base/io/child.h"
#include "base/io/tool.h"
#include "tests/agent/process_tree.h"
#include "tests/paths.h"

namespace robustrun::agent::strays_test {
namespace {

const std::string kTree = test_helper("shim_tree");

struct Tree {
  TreePipe out;
  std::unique_ptr<base::Child> child;
  std::optional<base::ExitStatus> status;

  Tree(boost::asio::io_context& loop, std::vector<std::string> arguments) {
    base::ChildOptions options;
    options.executable = kTree;
    options.argv = {kTree};
    options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
    options.descriptors = {-1, out.write_fd(), -1};
    auto started = base::Child::spawn(loop.get_executor(), options,
                                      [this](base::ExitStatus end) { status = end; });
    REQUIRE_MESSAGE(started.has_value(), started.error().what);
    child = *std::move(started);
    out.close_write_end();
  }
};

base::StraySweep sweep_until_settled(base::StrayKiller& killer, std::vector<pid_t> known) {
  base::StraySweep outcome = base::StraySweep::kAgain;
  const base::SystemClock clock;
  while ((outcome = killer.sweep(known, clock.now())) == base::StraySweep::kAgain) {
    std::this_thread::sleep_for(Milliseconds{1});  // as the caller's timer does
  }
  return outcome;
}

TEST_CASE("without children there is nothing to do") {
  CHECK(base::kill_strays({}) == base::StraySweep::kDone);
}

TEST_CASE("orphans are killed and reaped, known children and their trees are not touched") {
  SubreaperScope subreaper;
  boost::asio::io_context loop{1};
  Tree known(loop, {"stubborn"});
  Tree dying(loop, {"family", "10"});
  REQUIRE(known.out.wait_for_bytes(1));
  REQUIRE(dying.out.wait_for_bytes(11));
  REQUIRE(dying.child->signal(SIGKILL));
  REQUIRE(run_until(loop, [&] { return dying.status.has_value(); }));
  base::StrayKiller killer;
  CHECK(sweep_until_settled(killer, {known.child->pid()}) == base::StraySweep::kDone);
  CHECK(killer.killed() == 10);
  CHECK(dying.out.wait_for_end());
  CHECK_FALSE(known.out.ended());
  CHECK(known.child->signal(SIGKILL));
  REQUIRE(run_until(loop, [&] { return known.status.has_value(); }));
  CHECK(known.status == base::ExitStatus{base::ExitStatus::Kind::kSignaled, SIGKILL});
}

TEST_CASE("short helper programs are not taken for orphans, whenever they start and end") {
  SubreaperScope subreaper;
  constexpr int kTools = 100;
  std::atomic<int> well = 0;
  std::atomic<bool> over = false;
  std::jthread tools([&] {
    for (int i = 0; i < kTools; ++i) {
      const auto result = base::run_tool({"/bin/true"}, std::chrono::seconds(20));
      if (result && result->status.success()) ++well;
    }
    over = true;
  });
  base::StrayKiller killer;
  while (!over) CHECK(sweep_until_settled(killer, {}) == base::StraySweep::kDone);
  CHECK(well == kTools);
}

TEST_CASE("children from before become_subreaper() are not ours to kill") {
  boost::asio::io_context loop{1};
  Tree before(loop, {"stubborn"});
  REQUIRE(before.out.wait_for_bytes(1));
  SubreaperScope subreaper;
  CHECK(base::kill_strays({}) == base::StraySweep::kDone);
  CHECK_FALSE(before.out.ended());
  CHECK(before.child->signal(SIGKILL));
  REQUIRE(run_until(loop, [&] { return before.status.has_value(); }));
}

TEST_CASE("a fork bomb that lost its root is ended") {
  SubreaperScope subreaper;
  boost::asio::io_context loop{1};
  Tree bomb(loop, {"bomb", "100"});
  Tree known(loop, {"stubborn"});
  REQUIRE(bomb.out.wait_for_bytes(100));
  REQUIRE(known.out.wait_for_bytes(1));
  REQUIRE(bomb.child->signal(SIGKILL));
  REQUIRE(run_until(loop, [&] { return bomb.status.has_value(); }));
  base::StrayKiller killer;
  CHECK(sweep_until_settled(killer, {known.child->pid()}) == base::StraySweep::kDone);
  CHECK(bomb.out.wait_for_end());
  CHECK_FALSE(known.out.ended());
  CHECK(known.child->signal(SIGKILL));
  REQUIRE(run_until(loop, [&] { return known.status.has_value(); }));
}

TEST_CASE("an orphan that does not die is named when its time is over, and no longer waited for") {
  // Time is a parameter, so it can pass before the kernel has buried the process.
  SubreaperScope subreaper;
  boost::asio::io_context loop{1};
  Tree dying(loop, {"family", "1"});
  REQUIRE(dying.out.wait_for_bytes(2));
  REQUIRE(dying.child->signal(SIGKILL));
  REQUIRE(run_until(loop, [&] { return dying.status.has_value(); }));
  base::StrayKiller killer;
  base::StraySweep outcome = killer.sweep({}, base::Nanos{0});
  if (outcome == base::StraySweep::kAgain) {
    outcome = killer.sweep({}, base::kStrayStuckAfter + base::Nanos{1});
    CHECK((outcome == base::StraySweep::kStuck) == (killer.survivor() != 0));
  }
  CHECK(sweep_until_settled(killer, {}) == base::StraySweep::kDone);
  CHECK(dying.out.wait_for_end());
}

}  // namespace
}  // namespace robustrun::agent::strays_test
