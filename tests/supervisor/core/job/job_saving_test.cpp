// Copies that agents still save when the next attempt begins: what waits for them, and for how
// long.
#include <doctest/doctest.h>

#include "supervisor/core/status/fold.h"
#include "tests/supervisor/core/job/copied_job.h"

namespace robustrun::supervisor::test::job_saving_test {
namespace {

using namespace std::chrono_literals;

// A worker of node 1 dies, and all nodes of `saving` still save what theirs left behind.
void fail(Copied& h, const std::vector<std::uint32_t>& saving) {
  const base::Attempt attempt = h.job.attempt();
  h.tell_exit(exited(attempt.value, 2, 3 + static_cast<int>(attempt.value)));  // no crash loop
  for (const std::uint32_t node : std::vector(h.group)) {
    const bool saves = std::ranges::find(saving, node) != saving.end();
    h.tell(WorkersGone{attempt, 0, {}, {}, saves}, node);
  }
  if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
}

void over(Copied& h, std::uint32_t node, std::uint32_t made_in = 0, std::uint64_t order = 0) {
  h.tell(SavingOver{{made_in}, order}, node);
}

// Of the last event: nothing, a wait, or its end.
std::string told(const Copied& h) {
  const auto orders = h.all<StartWorkers>();
  if (orders.empty()) return "nothing";
  const bool waits = orders.front().saving;
  for (const StartWorkers& order : orders) {
    CHECK(order.saving == waits);
    CHECK(order.attempt == h.job.attempt());
  }
  return (waits ? "wait of " : "end of ") + std::to_string(orders.size());
}

TEST_CASE("the next attempt begins at once, and its workers wait until all copies are saved") {
  Copied h;
  h.start();
  fail(h, {0, 2});
  REQUIRE(h.job.state() == JobState::kReserving);
  h.reserve();
  CHECK(told(h) == "wait of 3");
  over(h, 1);  // it saved nothing
  CHECK(told(h) == "nothing");
  over(h, 2);
  CHECK(told(h) == "nothing");
  h.start_all();
  CHECK(h.job.state() == JobState::kRunning);
  over(h, 0);
  CHECK(told(h) == "end of 3");
  over(h, 0);  // said again
  CHECK(told(h) == "nothing");
}

TEST_CASE("what is saved before the workers start is nothing to wait for") {
  Copied h;
  h.start();
  fail(h, {0});
  over(h, 0);
  CHECK(told(h) == "nothing");
  h.reserve();
  CHECK(told(h) == "end of 3");
}

TEST_CASE("an attempt that fails while it waits leaves the wait to the next one") {
  Copied h;
  h.start();
  fail(h, {0, 2});
  h.reserve();
  h.start_all();
  fail(h, {0});
  over(h, 2);
  h.reserve();
  CHECK(told(h) == "wait of 3");
  over(h, 0);  // of the first attempt, a word that was long under way
  CHECK(told(h) == "nothing");
  over(h, 0, 1);
  CHECK(told(h) == "end of 3");
}

TEST_CASE("a node that is lost saves nothing any more, and its keeper does so for it") {
  Copied h;
  h.start();
  h.keep_all();
  fail(h, {1});
  REQUIRE(h.job.state() == JobState::kReserving);
  h.lose(1, "no power", false);
  REQUIRE(h.all<SaveHeldCopies>().size() == 1);
  CHECK(h.all<SaveHeldCopies>()[0].node == base::NodeId{2});
  CHECK(h.all<SaveHeldCopies>()[0].ranks == std::vector<base::Rank>{{2}, {3}});
  h.saved(2, h.all<SaveHeldCopies>()[0].order, 2);
  if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
  h.reserve();
  CHECK(told(h) == "end of 3");
}

TEST_CASE("so it does when the node is lost while others are waited for") {
  JobSpec spec = policy_spec({2, 2, 2}, 3, 3);
  spec.group.wait_for_nodes = 10min;
  Copied h(spec);
  h.start();
  h.keep_all();
  h.tell_exit(exited(0, 2, 1));
  h.lose(0, "no power", false);
  h.tell(WorkersGone{{0}, 0, {}, {}, true}, 1);
  h.gone(2);
  REQUIRE(h.job.state() == JobState::kBackoff);  // node 0's copies are saved by node 1
  h.saved(1, h.all<SaveHeldCopies>()[0].order, 2);
  if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
  REQUIRE(h.job.state() == JobState::kJoining);
  h.lose(1);  // its agent died in the middle
  CHECK(h.all<SaveHeldCopies>().empty());
  h.meet(1);
  while (h.job.state() == JobState::kJoining && h.generation[0] == 1) h.fire(TimerId::kNodes);
  h.meet(0);
  REQUIRE(h.job.state() == JobState::kBackoff);
  REQUIRE(h.all<SaveHeldCopies>().size() == 1);
  CHECK(h.all<SaveHeldCopies>()[0].node == base::NodeId{2});
  h.saved(2, h.all<SaveHeldCopies>()[0].order, 2);
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("copies of a lost node that take long are waited for by workers alone") {
  Copied h;
  h.start();
  h.keep_all();
  h.lose_machine(1);
  const std::uint64_t order = h.all<SaveHeldCopies>()[0].order;
  h.tell(HeldCopiesSaved{{0}, order, 0, {}, true}, 2);
  CHECK(h.text(Rule::kCopiesSaved) ==
        "the copies of node1 in the memory of node2 are still being saved: workers start, and wait "
        "for them before they load");
  REQUIRE(h.job.state() == JobState::kReserving);
  h.reserve();
  CHECK(told(h) == "wait of 3");
  over(h, 2);  // its own
  CHECK(told(h) == "nothing");
  over(h, 2, 0, order);
  CHECK(told(h) == "end of 3");
}

TEST_CASE("no other node saves the copies of an evicted node while it saves them itself") {
  Copied h;
  h.start();
  h.keep_all();
  const base::Attempt attempt = h.job.attempt();
  h.tell_exit(says(0, 2, "broken"));
  for (const std::uint32_t node : std::vector(h.group)) {
    h.tell(WorkersGone{attempt, 0, {}, {}, node == 1}, node);
  }
  REQUIRE(h.decided(Rule::kNodeEvicted));
  CHECK(h.all<SaveHeldCopies>().empty());
  REQUIRE(h.job.state() == JobState::kBackoff);
  over(h, 1);
  REQUIRE(h.all<SaveHeldCopies>().size() == 1);  // what it may not have saved
  CHECK(h.all<SaveHeldCopies>()[0].node == base::NodeId{2});
  REQUIRE(h.job.state() == JobState::kBackoff);
  h.saved(2, h.all<SaveHeldCopies>()[0].order, 0);
  if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
  REQUIRE(h.job.state() == JobState::kReserving);
  h.reserve();
  CHECK(told(h) == "end of 3");
}

TEST_CASE("a supervisor that takes over knows which nodes still save, and repeats the orders") {
  Copied h;
  h.start();
  fail(h, {0});
  h.reserve();
  std::vector<JournalEntry> entries;
  for (const Event& event : h.journal) entries.push_back({event.at, event});
  auto folded = fold(entries);
  REQUIRE(folded.has_value());
  CHECK(folded->job.digest() == h.job.digest());
  h.job = std::move(folded->job);
  h.tell(SupervisorResumed{2, "other", 7, {}, 1s});
  CHECK(told(h) == "wait of 3");
  over(h, 0);
  CHECK(told(h) == "end of 3");
  h.tell(SupervisorResumed{3, "another", 7, {}, 1s});
  CHECK(told(h) == "end of 3");
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_saving_test
