// Copies of ranks' states on two nodes each: several agents in one process, over loopback TLS.
#include "agent/copies/peer_copies.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "agent/copies/held_copies.h"
#include "checkpoint/memory/staging.h"
#include "tests/agent/copies/copy_nodes.h"

namespace peer_copies_test {

using namespace robustrun;
using agent::GivenMemory;
using test::TwoMounts;

namespace {

using Run = test::CopyRun;
using Node = test::CopyNode;

std::optional<std::uint64_t> newest_step(const GivenMemory& given) {
  if (!given.memory) return std::nullopt;
  const auto area = checkpoint::MemoryArea::shared(agent::same_memory(given).value().memory);
  REQUIRE(area);
  const auto copies = checkpoint::complete_copies(*area);
  if (copies.empty()) return std::nullopt;
  return copies.front().copy.manifest.head.attempt.step;
}

wire::WorkerSlot slot_of(std::uint32_t rank) {
  wire::WorkerSlot slot;
  slot.rank = base::Rank{rank};
  return slot;
}

}  // namespace

TEST_CASE(
    "a step whose copies are on a lost node and on its keeper is committed without the lost node") {
  const TwoMounts mounts("/dev/shm");
  Run run;
  Node holder(run, 2);
  auto lost = std::make_unique<Node>(run, 1);
  lost->place({holder.route(0)}, {});
  holder.place({}, {lost->route(0)});
  lost->stage(0, 6, mounts.directories);
  lost->await_at_peer(0, 6);
  lost->stage(0, 7, mounts.directories);
  lost->await_at_peer(0, 7);
  holder.stage(1, 6, mounts.directories);
  holder.stage(1, 7, mounts.directories);
  lost.reset();
  holder.save_own();
  CHECK_FALSE(checkpoint::newest_committed(mounts.directories));
  const auto saved = holder.save_held({base::Rank{0}, base::Rank{5}});
  CHECK(saved.saved == 1);
  CHECK(saved.errors.empty());
  const auto newest = checkpoint::newest_committed(mounts.directories);
  REQUIRE(newest);
  CHECK(newest->attempt.step == 7);
  CHECK(newest->manifest.shards.size() == 10);
  CHECK(holder.save_held({base::Rank{0}}).saved == 0);  // it is on disk
}

TEST_CASE(
    "the previous copy stays at the peer while the newest arrives, and if that arrives damaged") {
  const TwoMounts mounts("/dev/shm");
  Run run;
  Node holder(run, 2), owner(run, 1);
  owner.place({holder.route(0)}, {});
  holder.place({}, {owner.route(0)});
  owner.stage(0, 6, mounts.directories);
  owner.await_at_peer(0, 6);
  holder.stage(1, 6, mounts.directories);
  owner.stage(0, 7, mounts.directories, true);
  run.run_until([&] { return owner.kept(0)->step == 7; });
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  run.run_until([&] { return std::chrono::steady_clock::now() > until; });
  holder.save_own();
  CHECK(holder.save_held({base::Rank{0}}).saved == 1);
  REQUIRE(checkpoint::newest_committed(mounts.directories));
  CHECK(checkpoint::newest_committed(mounts.directories)->attempt.step == 6);
}

TEST_CASE(
    "a rank that moves to another node finds its copy there, over the network or in its own "
    "memory") {
  const TwoMounts mounts("/dev/shm");
  Run run;
  Node holder(run, 2), spare(run, 3);
  auto lost = std::make_unique<Node>(run, 1);
  lost->place({holder.route(0), holder.route(1)}, {});
  holder.place({}, {lost->route(0), lost->route(1)});
  lost->stage(0, 6, mounts.directories);
  lost->stage(1, 6, mounts.directories);
  lost->await_at_peer(0, 6);
  lost->await_at_peer(1, 6);
  lost.reset();
  spare.place({}, {}, {holder.route(0)});
  holder.place({}, {});
  holder.peers->begin_attempt();
  CHECK(newest_step(spare.give(0, 0).value()) == 6);
  CHECK(newest_step(holder.give(1, 0).value()) == 6);
  CHECK_FALSE(newest_step(spare.give(1, 0).value()));  // it has no route to the copy
  // The worker's next request is answered with the same memory.
  CHECK(newest_step(spare.give(0, 4096).value()) == 6);
}

TEST_CASE("a rank that leaves a living node is fetched from there") {
  const TwoMounts mounts("/dev/shm");
  Run run;
  Node before(run, 1), after(run, 2);
  before.stage(0, 6, mounts.directories);
  after.place({}, {}, {before.route(0)});
  SUBCASE("before that node knows of it") {}
  SUBCASE("while others run there") {
    before.place({}, {});
    before.tier->keep({slot_of(1)});
    before.peers->begin_attempt();
    CHECK(before.tier->memories().empty());
  }
  CHECK(newest_step(after.give(0, 0).value()) == 6);
}

TEST_CASE("a rank's copy is fetched while its worker starts, and not a second time") {
  const TwoMounts mounts("/dev/shm");
  Run run;
  Node before(run, 1), after(run, 2);
  before.stage(0, 6, mounts.directories);
  after.place({}, {}, {before.route(0)});
  after.tier->keep({slot_of(0)});
  SUBCASE("the worker asks later") {
    run.run_until([&] { return !after.tier->memories().empty(); });
    CHECK(newest_step(after.give(0, 0).value()) == 6);
  }
  SUBCASE("the worker asks meanwhile") { CHECK(newest_step(after.give(0, 0).value()) == 6); }
  SUBCASE("the rank leaves meanwhile") {
    after.tier->keep({slot_of(1)});
    CHECK_FALSE(after.give(0, 0).value().memory);  // it waits for the fetch
    CHECK(after.tier->memories().empty());
  }
}

TEST_CASE("memory that is not wanted is freed on another thread than the loop's") {
  Run run;
  Node node(run, 1);
  const auto held = std::make_shared<agent::HeldCopies>(
      node.node, [](base::Rank) -> std::optional<GivenMemory> { return std::nullopt; });
  std::promise<void> go_on;
  REQUIRE(run.pool.submit(1, [busy = go_on.get_future()] { busy.wait(); }, {}));  // the only thread
  GivenMemory without_copy = agent::reserve_copy_memory(1U << 20U).value();
  const int memory = without_copy.memory.get();
  held->adopt(base::Rank{0}, std::move(without_copy));
  CHECK(::fcntl(memory, F_GETFD) >= 0);
  go_on.set_value();
  run.run_until([&] { return ::fcntl(memory, F_GETFD) < 0; });
  held->abandon();
}

TEST_CASE("copies are accepted only for ranks, and from nodes, that the supervisor named") {
  const TwoMounts mounts("/dev/shm");
  Run run;
  Node holder(run, 2), owner(run, 1), other(run, 3), old(run, 1, 0);
  for (Node* node : {&owner, &other, &old}) node->place({holder.route(0)}, {});
  holder.place({}, {owner.route(0)});
  other.stage(0, 8, mounts.directories);
  old.stage(0, 9, mounts.directories);
  owner.stage(0, 6, mounts.directories);
  owner.await_at_peer(0, 6);
  run.run_until([&] { return other.kept(0) && other.kept(0)->step == 8 && old.kept(0); });
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  run.run_until([&] { return std::chrono::steady_clock::now() > until; });
  CHECK_FALSE(other.kept(0)->at_peer);
  CHECK_FALSE(old.kept(0)->at_peer);
  CHECK(newest_step(holder.give(0, 0).value()) == 6);
}

TEST_CASE("a peer that does not accept copies yet gets them when it does") {
  const TwoMounts mounts("/dev/shm");
  Run run;
  Node holder(run, 2), owner(run, 1);
  owner.place({holder.route(0)}, {});
  owner.stage(0, 6, mounts.directories);
  run.run_until([&] { return owner.kept(0) && owner.kept(0)->step == 6; });
  CHECK(owner.kept(0)->here);
  CHECK_FALSE(owner.kept(0)->at_peer);
  holder.place({}, {owner.route(0)});
  owner.await_at_peer(0, 6);
  // Ranks without a copy are not reported at all.
  CHECK_FALSE(holder.kept(1));
}

TEST_CASE("a rank whose copy cannot be fetched starts without it, after a bounded wait") {
  Run run;
  auto gone = std::make_unique<Node>(run, 1);
  const wire::CopyRoute dead = gone->route(0);
  gone.reset();
  Node node(run, 2), empty(run, 3);
  wire::CopyRoute strange = empty.route(3);
  strange.endpoint = "not an endpoint";
  wire::CopyRoute wrong = empty.route(2);
  wrong.generation = base::Generation{7};
  node.place({}, {}, {dead, empty.route(1), wrong, strange});
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    CAPTURE(rank);
    const auto given = node.give(rank, 0);
    REQUIRE(given);
    CHECK_FALSE(given->memory);
  }
}

}  // namespace peer_copies_test
