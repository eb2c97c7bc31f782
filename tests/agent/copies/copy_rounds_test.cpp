// Rounds of copies between several agents in one process, over loopback TLS: which copies are held,
// sent and kept while workers go on making new ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <ranges>

#include "agent/copies/rescue.h"
#include "agent/copies/round_part.h"
#include "checkpoint/memory/staging.h"
#include "tests/agent/copies/copy_nodes.h"
#include "wire/bulk/bulk_listener.h"

namespace copy_rounds_test {

using namespace robustrun;
using test::CopyNode;
using test::CopyRun;
using test::TwoMounts;
using Stage = wire::RoundPart::Stage;

namespace {

// A rank whose copies a peer keeps, and its worker, which makes one copy after another.
struct Owner {
  Owner(CopyRun& run, const TwoMounts& in) : mounts(in), node(run, 1) {}

  void begin(const wire::CopyRoute& keeper, std::optional<std::uint64_t> rate = std::nullopt) {
    wire::PlaceCopies order{{1}, {keeper}, {}, {}};
    order.rate = rate;
    CHECK(node.peers->take(order));
  }
  void stage(std::uint64_t step) { node.stage(0, step, mounts.directories); }
  // Waits until the agent has looked at the new copies.
  void stage_and_tell(std::uint64_t step) {
    stage(step);
    node.run.run_until([&] {
      const auto copy = node.kept(0);
      return copy && copy->part && copy->step == step;
    });
  }
  void order(std::uint64_t round, std::uint64_t from_step, std::uint64_t complete = 0) {
    CHECK(node.peers->take(wire::CopyRound{{1}, round, from_step, complete}));
  }
  void await(Stage stage, std::uint64_t round, std::uint64_t step) {
    node.run.run_until([&] {
      const auto copy = node.kept(0);
      return copy && copy->part == wire::RoundPart{stage, round, step};
    });
  }

  const TwoMounts& mounts;
  CopyNode node;
};

class EveryLookASecond final : public base::Clock {
 public:
  [[nodiscard]] base::Nanos now() const override { return now_ += std::chrono::seconds(1); }
  [[nodiscard]] base::Nanos wall_time() const override { return now(); }

 private:
  mutable base::Nanos now_{};
};

std::vector<std::uint64_t> steps_in(const agent::GivenMemory& given) {
  const auto area = checkpoint::MemoryArea::shared(agent::same_memory(given).value().memory);
  REQUIRE(area);
  std::vector<std::uint64_t> steps;
  for (const auto& found : checkpoint::complete_copies(*area)) {
    steps.push_back(found.copy.manifest.head.attempt.step);
  }
  std::ranges::sort(steps);
  return steps;
}

}  // namespace

TEST_CASE("the copy of a round is held and sent, however many newer ones are made meanwhile") {
  const TwoMounts mounts("/dev/shm");
  CopyRun run;
  CopyNode holder(run, 2);
  Owner owner(run, mounts);
  owner.begin(holder.route(0));
  for (std::uint64_t step = 1; step <= 3; ++step) owner.stage(step);
  owner.order(7, 3);
  owner.await(Stage::kHeld, 7, 3);
  for (std::uint64_t step = 4; step <= 9; ++step) owner.stage(step);
  CHECK(steps_in(*owner.node.tier->memories().front().given) ==
        std::vector<std::uint64_t>{3, 7, 8, 9});
  holder.place({}, {owner.node.route(0)});
  owner.await(Stage::kKept, 7, 3);
  CHECK(steps_in(holder.give(0, 0).value()) == std::vector<std::uint64_t>{3});
}

TEST_CASE(
    "the last complete round stays with the owner and the keeper until the next is complete") {
  const TwoMounts mounts("/dev/shm");
  CopyRun run;
  CopyNode holder(run, 2);
  Owner owner(run, mounts);
  owner.begin(holder.route(0));
  holder.place({}, {owner.node.route(0)});
  std::uint64_t complete = 0, round = 7, step = 1;
  // Whether each copy is complete; incomplete ones are overwritten first.
  const std::vector<bool> course{true, false, false, true, true, false, true};
  std::uint64_t complete_step = 0;
  for (const bool is_complete : course) {
    CAPTURE(round);
    owner.order(round, step, complete);
    owner.stage(step);
    owner.await(Stage::kKept, round, step);
    for (std::uint64_t newer = step + 1; newer < step + 6; ++newer) owner.stage(newer);
    const auto own = steps_in(*owner.node.tier->memories().front().given);
    CHECK(std::ranges::count(own, step) == 1);
    if (complete != 0) CHECK(std::ranges::count(own, complete_step) == 1);
    if (is_complete) {
      complete = round;
      complete_step = step;
    }
    step += 10;
    ++round;
  }
  owner.order(round, step, complete - 1);  // unknown there: the complete one stays
  const auto kept = steps_in(holder.give(0, 0).value());
  CHECK(kept == std::vector<std::uint64_t>{41, 61});
}

TEST_CASE("a round that is given up is no longer sent, and the next one is") {
  const TwoMounts mounts("/dev/shm");
  CopyRun run;
  CopyNode holder(run, 2);
  Owner owner(run, mounts);
  owner.begin(holder.route(0));  // the peer does not expect it yet: retried
  owner.stage_and_tell(1);
  owner.order(7, 1);
  owner.await(Stage::kHeld, 7, 1);
  owner.order(8, 2);
  owner.await(Stage::kReady, 8, 0);
  owner.stage(2);
  owner.await(Stage::kHeld, 8, 2);
  holder.place({}, {owner.node.route(0)});
  owner.await(Stage::kKept, 8, 2);
  CHECK(steps_in(holder.give(0, 0).value()) == std::vector<std::uint64_t>{2});
}

TEST_CASE("orders of another attempt, and repeated orders, change nothing") {
  const TwoMounts mounts("/dev/shm");
  CopyRun run;
  CopyNode holder(run, 2);
  Owner owner(run, mounts);
  owner.begin(holder.route(0));
  holder.place({}, {owner.node.route(0)});
  owner.stage_and_tell(1);
  CHECK(owner.node.peers->take(wire::CopyRound{{5}, 9, 1, 0}));
  owner.order(7, 1);
  owner.await(Stage::kKept, 7, 1);
  owner.order(7, 1);
  owner.stage_and_tell(2);
  CHECK(owner.node.kept(0)->part == wire::RoundPart{Stage::kKept, 7, 1});
}

TEST_CASE("a new attempt begins without rounds, and its copies count from its own first one on") {
  const TwoMounts mounts("/dev/shm");
  CopyRun run;
  CopyNode holder(run, 2);
  Owner owner(run, mounts);
  owner.begin(holder.route(0));
  holder.place({}, {owner.node.route(0)});
  owner.stage_and_tell(50);
  owner.order(7, 50);
  owner.await(Stage::kKept, 7, 50);
  CHECK(owner.node.peers->take(wire::PlaceCopies{{2}, {holder.route(0)}, {}, {}}));
  run.run_until([&] { return owner.node.kept(0) && !owner.node.kept(0)->part; });
  owner.node.workers.clear();
  owner.stage(51);
  run.run_until([&] { return owner.node.kept(0)->part == wire::RoundPart{}; });
  CHECK(owner.node.kept(0)->step == 51);
}

TEST_CASE("a peer without room refuses, which is logged once, and the next round is tried again") {
  const TwoMounts mounts("/dev/shm");
  CopyRun run;
  CopyNode full(run, 2);
  const auto listener = wire::BulkListener::open(
      run.loop.get_executor(), "127.0.0.1", full.keys, [&](wire::BulkConnection connection) {
        const auto stream = connection.stream;
        REQUIRE(run.pool.submit(
            0,
            [stream] {
              static_cast<void>(agent::answer_bulk(*stream, {wire::BulkVerdict::kNoRoom, 0, {}}));
              stream->finish();
            },
            [] {}));
      });
  REQUIRE(listener);
  wire::CopyRoute route = full.route(0);
  route.endpoint = wire::endpoint_text("127.0.0.1", (*listener)->port());
  Owner owner(run, mounts);
  owner.begin(route);
  owner.stage_and_tell(1);
  owner.order(7, 1);
  owner.await(Stage::kRefused, 7, 1);
  CHECK_FALSE(owner.node.kept(0)->at_peer);
  owner.stage(2);
  owner.order(8, 2, 7);
  owner.await(Stage::kRefused, 8, 2);
}

TEST_CASE("a rank that moves to its keeper gets memory for held copies and takes part") {
  const TwoMounts mounts("/dev/shm");
  CopyRun run;
  CopyNode holder(run, 2), third(run, 3);
  {
    Owner owner(run, mounts);
    owner.begin(holder.route(0));
    holder.place({}, {owner.node.route(0)});
    owner.stage_and_tell(6);
    owner.node.await_at_peer(0, 6);
  }
  third.place({}, {holder.route(0)});
  holder.place({third.route(0)}, {});
  const auto given = holder.give(0, 0);
  REQUIRE(given);
  CHECK(agent::has_board(*given));
  CHECK(steps_in(*given) == std::vector<std::uint64_t>{6});
  holder.stage(0, 7, mounts.directories);
  run.run_until([&] { return holder.kept(0) && holder.kept(0)->part.has_value(); });
}

TEST_CASE("with time for one more step only, the last complete round's step is saved") {
  const TwoMounts mounts("/dev/shm");
  CopyRun run;
  CopyNode holder(run, 2);
  Owner owner(run, mounts);
  owner.begin(holder.route(0));
  owner.stage_and_tell(1);
  owner.order(7, 1);
  owner.await(Stage::kHeld, 7, 1);
  for (std::uint64_t step = 2; step <= 5; ++step) owner.stage(step);
  EveryLookASecond clock;
  agent::RescueWatch watch;
  watch.until = std::chrono::hours(1);
  std::vector<std::uint64_t> wanted{5, 4, 3, 1};
  bool has_next_begun = false;
  SUBCASE("there is enough") {}
  SUBCASE("there is not") {
    watch.until = std::chrono::seconds(7);
    wanted = {5, 1};
    SUBCASE("while nothing else happens") {}
    SUBCASE("while the next attempt begins") { has_next_begun = true; }
  }
  const auto given = owner.node.give(0, 0);
  REQUIRE(given);
  const std::uint64_t bytes = given->bytes;
  std::vector<agent::RescuedMemory> memories;
  memories.push_back(agent::rescued_memory(base::Rank{0}, *given).value());
  if (has_next_begun) {
    auto board = checkpoint::MappedBoard::of(memories.front().memory, bytes);
    REQUIRE(board);
    (*board)->clear();
  }
  const auto lines = agent::rescue_copies(std::move(memories), clock, watch);
  REQUIRE(lines.size() == wanted.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    CHECK(lines[i].text == "saved the copy in memory of step " + std::to_string(wanted[i]));
  }
}

TEST_CASE("ranks without a keeper have memory for two copies and no part in rounds") {
  const TwoMounts mounts("/dev/shm");
  CopyRun run;
  CopyNode node(run, 1);
  node.place({}, {});
  node.stage(0, 6, mounts.directories);
  CHECK_FALSE(agent::has_board(*node.tier->memories().front().given));
  run.run_until([&] { return node.kept(0) && node.kept(0)->here; });
  CHECK_FALSE(node.kept(0)->part);
}

}  // namespace copy_rounds_test
