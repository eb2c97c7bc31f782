#include "agent/copies/memory_tier.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "agent/node/limits.h"
#include "base/io/log.h"
#include "checkpoint/memory/staging.h"
#include "tests/checkpoint/fuse_view.h"
#include "tests/checkpoint/support.h"

namespace memory_tier_test {

using namespace robustrun;
using agent::GivenMemory;
using agent::MemoryTier;
using test::SampleState;
using test::TwoMounts;

namespace {

struct Node {
  boost::asio::io_context loop;
  base::SystemClock clock;
  base::BlockingPool pool{loop.get_executor(), 1, 16};
  agent::NodeContext node{
      loop.get_executor(), clock, pool, [](const wire::Message&) {}, {}, {}, {}};
  std::unique_ptr<MemoryTier> tier = MemoryTier::make(node);

  void run_until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done()) {
      REQUIRE(std::chrono::steady_clock::now() < end);
      loop.restart();
      loop.run_one_for(std::chrono::milliseconds(50));
    }
  }
  base::Result<GivenMemory> give(std::uint32_t rank, std::uint64_t bytes) {
    std::optional<base::Result<GivenMemory>> given;
    tier->give(base::Rank{rank}, bytes,
               [&](base::Result<GivenMemory> answer) { given.emplace(std::move(answer)); });
    run_until([&] { return given.has_value(); });
    return std::move(*given);
  }
  void save() {
    bool saved = false;
    tier->save_copies([&] { saved = true; });
    run_until([&] { return saved; });
  }
};

ino_t inode(const base::Fd& fd) {
  struct stat status{};
  REQUIRE(::fstat(fd.get(), &status) == 0);
  return status.st_ino;
}

// A rank's copy of that step, as one of two writers.
void stage_as(Node& node, std::uint32_t rank, std::uint64_t step,
              const std::vector<std::string>& directories) {
  auto given = node.give(rank, 8U << 20U);
  REQUIRE(given);
  checkpoint::Staging staging(1);
  REQUIRE(staging.use(*checkpoint::MemoryArea::shared(std::move(given->memory))));
  SampleState state(step);
  for (checkpoint::Shard& shard : state.contents.shards) shard.rank = rank;
  auto order = test::sample_order(step, directories);
  order.layout.world_size = 2;
  order.layout.axes = {{"dp", 2}};
  order.writers = {"n0", "n1"};
  order.writer = "n" + std::to_string(rank);
  REQUIRE(staging.stage(order, state.contents));
}

}  // namespace

TEST_CASE(
    "a rank keeps its memory from attempt to attempt, and loses it when it moves to another node") {
  Node node;
  const auto none = node.give(0, 0);
  REQUIRE(none);
  CHECK_FALSE(none->memory);
  const auto first = node.give(0, 5'000'000);
  REQUIRE(first);
  CHECK(first->bytes >= 5'000'000);
  CHECK(checkpoint::MemoryArea::shared(base::Fd(::dup(first->memory.get()))));
  CHECK(inode(node.give(0, 0)->memory) == inode(first->memory));
  CHECK(inode(node.give(0, first->bytes)->memory) == inode(first->memory));
  CHECK(inode(node.give(1, 5'000'000)->memory) != inode(first->memory));
  CHECK(inode(node.give(0, 50'000'000)->memory) != inode(first->memory));
  wire::WorkerSlot slot;
  slot.rank = base::Rank{1};
  node.tier->keep({slot});
  CHECK_FALSE(node.give(0, 0)->memory);
  CHECK(node.give(1, 0)->memory);
}

TEST_CASE("too large memory is refused, which is logged once per rank") {
  Node node;
  std::string log;
  base::copy_log([&log](std::string_view line) { log += line; });
  const auto lines = [&log](std::string_view words) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = log.find(words, at)) != std::string::npos; ++at) ++count;
    return count;
  };
  const auto refused = node.give(0, checkpoint::available_memory());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == base::Errc::kLimit);
  CHECK(lines("not kept any more beyond its end: " + refused.error().what) == 1);
  CHECK_FALSE(node.give(0, UINT64_MAX));
  CHECK(lines("not kept any more") == 1);
  CHECK_FALSE(node.give(1, UINT64_MAX));
  CHECK(lines("not kept any more") == 2);
  CHECK(node.give(0, 5'000'000));
  CHECK_FALSE(node.give(0, UINT64_MAX));  // and once more since then
  CHECK(lines("not kept any more") == 3);
  base::copy_log(nullptr);
}

TEST_CASE("copies of dead workers are saved and committed: the newest step that all of them have") {
  const TwoMounts mounts("/dev/shm");
  Node node;
  stage_as(node, 0, 6, mounts.directories);
  stage_as(node, 1, 6, mounts.directories);
  stage_as(node, 0, 7, mounts.directories);  // the other one died while copying
  node.save();
  const auto newest = checkpoint::newest_committed(mounts.directories);
  REQUIRE(newest);
  CHECK(newest->attempt.step == 6);
  CHECK(newest->manifest.shards.size() == 10);
  stage_as(node, 0, 8, mounts.directories);
  stage_as(node, 1, 8, mounts.directories);
  node.save();
  node.save();
  CHECK(checkpoint::newest_committed(mounts.directories)->attempt.step == 8);
}

TEST_CASE("a directory that hangs leaves enough of the time to save on the others") {
  const TwoMounts mounts("/dev/shm");
  const std::string seen = mounts.directories[0] + "/view";
  const std::vector<std::string> directories = {mounts.directories[0], seen + "/below"};
  REQUIRE(std::filesystem::create_directory(seen));
  REQUIRE(std::filesystem::create_directory(mounts.directories[1] + "/below"));
  const test::FuseView view(mounts.directories[1], seen);
  if (!view.there()) {
    MESSAGE("no FUSE here: bindfs is missing or mounting is not allowed");
    return;
  }
  Node node;
  for (const std::uint32_t rank : {0U, 1U}) stage_as(node, rank, 6, directories);
  view.stop();
  node.save();
  bool may_begin = false;
  node.tier->after_saving([&] { may_begin = true; });
  CHECK(may_begin);
  const auto newest = checkpoint::newest_committed(std::span(directories).first(1));
  view.go_on();
  REQUIRE(newest);
  CHECK(newest->attempt.step == 6);
  CHECK(test::wrong_in(*newest) == "");
}

TEST_CASE("a call during a rescue waits for its end, and copies are saved once") {
  const TwoMounts mounts("/dev/shm");
  Node node;
  for (const std::uint32_t rank : {0U, 1U}) stage_as(node, rank, 6, mounts.directories);
  std::string order;
  node.tier->save_copies([&] { order += "first "; });
  node.tier->save_copies([&] { order += "second "; });
  node.tier->after_saving([&] { order += "workers "; });
  CHECK(order.empty());
  const auto refused = node.give(0, 0);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == base::Errc::kConflict);
  node.run_until([&] { return order.ends_with("workers "); });
  CHECK(order == "first second workers ");
  CHECK(checkpoint::newest_committed(mounts.directories)->attempt.step == 6);
  CHECK(node.give(0, 0));
}

TEST_CASE("a copy that no worker of ours would leave is not saved and does no harm") {
  const TwoMounts mounts("/dev/shm");
  Node node;
  const auto seed = base::system_seed();
  CAPTURE(seed);
  base::Rng rng(seed);
  stage_as(node, 0, 6, mounts.directories);
  stage_as(node, 1, 6, mounts.directories);
  auto area = checkpoint::MemoryArea::shared(std::move(node.give(0, 0)->memory));
  REQUIRE(area);
  for (int i = 0; i < 50; ++i) {
    const std::span<char> slot = area->slot(static_cast<std::size_t>(i) % 2);
    slot[16 + rng.below(24)] ^= static_cast<char>(1 + rng.below(255));
    for (int change = 0; change < 8; ++change)
      slot[rng.below(6000)] = static_cast<char>(rng.next());
    slot[12] = 2;  // "complete"
    node.save();
    CHECK_FALSE(checkpoint::newest_committed(mounts.directories));
  }
}

TEST_CASE("a tier that is destroyed answers no more") {
  Node node;
  bool answered = false;
  node.tier->give(base::Rank{0}, 5'000'000, [&](const auto&) { answered = true; });
  node.tier.reset();
  node.loop.poll();
  CHECK_FALSE(answered);
}

}  // namespace memory_tier_test
