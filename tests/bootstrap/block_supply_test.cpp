#include <doctest/doctest.h>
#include <fcntl.h>

#include <filesystem>

#include "base/io/fd.h"
#include "tests/bootstrap/block_supply_fixture.h"

namespace robustrun::bootstrap::block_supply_test {

using namespace std::chrono_literals;

TEST_CASE("reads anywhere return the source's bytes, from the store the second time") {
  Fixture server;
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> places = {
      {0, 1},
      {kBlockBytes - 5, 10},
      {2 * kBlockBytes, kBlockBytes},
      {4 * kBlockBytes + 77, 2 * kBlockBytes},
      {kLength - 10, 100}};
  for (int round = 0; round < 2; ++round) {
    for (const auto& [offset, length] : places) {
      const Outcome outcome = outcome_of(server.read(offset, length));
      REQUIRE(outcome.is_there);
      CHECK(outcome.bytes == bytes_at(offset, std::min(length, kLength - offset)));
    }
    CHECK(server.status().demand_fetches == 7);
  }
  CHECK(outcome_of(server.read(kLength, 10)).bytes.empty());
  CHECK(server.status().origin_bytes == 6 * kBlockBytes + 4321);
  CHECK(server.status().store_bytes >= 3 * kBlockBytes);
  CHECK(server.status().waiting == 0);
}

TEST_CASE("a block is requested once, however many reads wait for it") {
  Fixture server;
  server.origin.hang(3);
  std::vector<std::future<Outcome>> readers;
  for (int i = 0; i < 50; ++i) readers.push_back(server.read(3 * kBlockBytes + 10, 5));
  REQUIRE(server.origin.wait_asked(3, 1));
  CHECK(outcome_of(server.read(5 * kBlockBytes, 5)).is_there);  // not delayed by other reads
  CHECK(server.status().waiting == 50);
  server.origin.hang_all(false);
  for (auto& reader : readers) CHECK(outcome_of(std::move(reader)).is_there);
  CHECK(server.origin.asked(3) == 1);
}

TEST_CASE("a source that fails for a while is retried, and no reader notices") {
  Fixture server;
  std::promise<std::string> event;
  std::atomic<bool> is_told = false;
  server.supply->on_event([&](const std::string& text, bool) {
    if (!is_told.exchange(true)) event.set_value(text);
  });
  server.origin.fail(3, base::Errc::kUnavailable);
  CHECK(outcome_of(server.read(0, 10)).is_there);
  CHECK(server.origin.asked(0) == 4);
  CHECK(event.get_future().get() == "cannot read 'fake': it fails");
  CHECK(server.status().trouble.empty());
  CHECK(server.status().origin_failures == 3);
  CHECK(server.status().errors == 0);
}

TEST_CASE("a read ends with an error when the source fails for longer than its budget") {
  Fixture server({500ms, 4, 0, false});
  server.origin.fail(1'000'000, base::Errc::kUnavailable);
  const Outcome outcome = outcome_of(server.read(0, 10));
  CHECK_FALSE(outcome.is_there);
  CHECK(server.origin.asked(0) >= 2);
  CHECK(server.status().errors == 1);
  CHECK(server.status().trouble == "cannot read 'fake': it fails");
}

TEST_CASE("permanent errors are not retried") {
  Fixture server;
  server.origin.fail(1'000'000, base::Errc::kConflict);
  CHECK(outcome_of(server.read(0, 10)).error.code == base::Errc::kConflict);
  CHECK(server.origin.asked(0) == 1);
}

TEST_CASE("a hanging source fails in time the reads that need it, and no others") {
  Fixture server({300ms, 4, 0, false});
  REQUIRE(outcome_of(server.read(0, 10)).is_there);
  server.origin.hang_all(true);
  std::vector<std::future<Outcome>> readers;
  for (std::uint64_t block = 1; block < kBlocks; ++block) {
    readers.push_back(server.read(block * kBlockBytes, 10));
  }
  CHECK(outcome_of(server.read(5, 10)).is_there);
  for (auto& reader : readers) {
    CHECK(outcome_of(std::move(reader)).error.code == base::Errc::kTimeout);
  }
  CHECK(server.status().waiting == 0);
  server.origin.hang_all(false);  // a late block is kept
  CHECK(server.wait_until([](const auto& status) { return status.stored_blocks == kBlocks; }));
}

TEST_CASE("a damaged block of the store is fetched again") {
  Fixture server;
  REQUIRE(outcome_of(server.read(0, 10)).is_there);
  server.restart({60s, 4, 0, false}, {});
  const std::string data =
      server.scratch.path("cache") + "/blocks/" + server.origin.blob().key + "/data";
  {
    const base::Fd fd(::open(data.c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(::pwrite(fd.get(), "damage", 6, 100) == 6);
  }
  CHECK(outcome_of(server.read(98, 10)).bytes == bytes_at(98, 10));
  CHECK(server.status().rotten == 1);
  CHECK(server.origin.asked(0) == 2);
}

TEST_CASE("the profile's blocks are fetched in order, then the rest") {
  BlockProfile profile{kLength, 1, {{7, 0}, {2, 0}, {9, 1}, {0, 0}}};
  Fixture server({60s, 1, 1ULL << 30, true}, profile);
  REQUIRE(server.wait_until([](const auto& status) { return status.is_hot_done; }));
  server.clock.go_on(kColdRest);
  REQUIRE(server.wait_until([](const auto& status) { return status.is_all_done; }));
  const auto order = server.origin.order();
  REQUIRE(order.size() == kBlocks);
  CHECK(std::vector(order.begin(), order.begin() + 4) == std::vector<std::uint64_t>{7, 2, 9, 0});
  CHECK(server.status().hot_blocks == 4);
  CHECK(server.status().is_hot_done);
  CHECK(server.status().demand_fetches == 0);
  // From now on, reads do not need the source.
  server.origin.fail(1'000'000, base::Errc::kUnavailable);
  for (std::uint64_t block = 0; block < kBlocks; ++block) {
    CHECK(outcome_of(server.read(block * kBlockBytes, 10)).is_there);
  }
  CHECK(server.status().demand_fetches == 0);
}

TEST_CASE("blocks outside of the profile wait until the image is idle, but not forever") {
  const auto is_whole = [](const BlockServerStatus& status) { return status.is_all_done; };
  SUBCASE("idle") {
    Fixture server({60s, 1, 1ULL << 30, false}, {});
    CHECK(outcome_of(server.read(0, 10)).is_there);
    server.restart({60s, 1, 1ULL << 30, true}, {});
    CHECK(outcome_of(server.read(0, 10)).is_there);  // no read waited for the source
    server.clock.go_on(kColdQuiet);
    CHECK_FALSE(server.origin.wait_more_than(1, 10 * kSupplyTick));
    server.clock.go_on(kColdRest);
    CHECK(server.wait_until(is_whole));
  }
  SUBCASE("read all the time") {
    Fixture server({60s, 1, 1ULL << 30, true}, {});
    CHECK(server.wait_until([&](const BlockServerStatus& status) {
      CHECK(outcome_of(server.read(0, 10)).is_there);
      server.clock.go_on(kColdQuiet);
      return is_whole(status);
    }));
  }
}

TEST_CASE("a read takes precedence over prefetching") {
  BlockProfile profile{kLength, 1, {}};
  for (std::uint32_t block = 0; block < kBlocks - 1; ++block) profile.blocks.push_back({block, 0});
  Fixture server({60s, 2, 0, false}, profile);
  server.origin.hang_all(true);
  server.restart({60s, 2, 0, true}, profile);
  REQUIRE((server.origin.wait_asked(0, 1) && server.origin.wait_asked(1, 1)));  // two requests hang
  auto reader = server.read((kBlocks - 1) * kBlockBytes, 10);
  CHECK(server.origin.wait_asked(kBlocks - 1, 1));
  CHECK(server.origin.order().size() == 3);
  server.origin.hang_all(false);
  CHECK(outcome_of(std::move(reader)).is_there);
}

TEST_CASE("peers are asked before the source, and the source if they have nothing") {
  Fixture server;
  BlockSupply& supply = *server.supply;
  std::mutex mutex;
  std::condition_variable asked;
  std::vector<std::uint64_t> wants;
  supply.set_peers([&](std::uint64_t block) {
    const std::lock_guard lock(mutex);
    wants.push_back(block);
    asked.notify_all();
    return true;
  });
  const auto wait_wants = [&](std::size_t count) {
    std::unique_lock lock(mutex);
    return asked.wait_for(lock, kSoon, [&] { return wants.size() == count; });
  };
  auto first = server.read(0, 10);
  REQUIRE(wait_wants(1));
  supply.peers_answered(0, bytes_at(0, kBlockBytes));
  CHECK(outcome_of(std::move(first)).bytes == bytes_at(0, 10));
  CHECK(server.origin.asked(0) == 0);
  CHECK(server.status().peer_bytes == kBlockBytes);

  auto second = server.read(kBlockBytes, 10);
  REQUIRE(wait_wants(2));
  supply.peers_answered(1, std::nullopt);
  CHECK(outcome_of(std::move(second)).is_there);
  auto third = server.read(2 * kBlockBytes, 10);
  REQUIRE(wait_wants(3));
  supply.peers_answered(2, "too short");
  CHECK(outcome_of(std::move(third)).is_there);
  auto fourth = server.read(3 * kBlockBytes, 10);
  REQUIRE(wait_wants(4));
  supply.peers_gone();
  CHECK(outcome_of(std::move(fourth)).is_there);
  CHECK(outcome_of(server.read(4 * kBlockBytes, 10)).is_there);
  CHECK(wants.size() == 4);
  for (std::uint64_t block = 1; block < 5; ++block) CHECK(server.origin.asked(block) == 1);
}

TEST_CASE("every read is served even if the store has no room") {
  Fixture server;
  server.supply.reset();
  server.reads.reset();
  server.store.reset();
  server.store = BlockStore::open({server.scratch.path("small"), server.origin.blob().key, kLength,
                                   "fake", kBlockBytes / 2})
                     .value();
  server.supply.emplace(*server.store, server.origin, server.clock, SupplyOptions{60s, 4, 0, false},
                        BlockProfile{});
  server.reads.emplace(*server.store, *server.supply, server.recorder, server.clock, 60s);
  for (int round = 0; round < 2; ++round) {
    const Outcome outcome = outcome_of(server.read(kBlockBytes - 100, kBlockBytes));
    CHECK(outcome.bytes == bytes_at(kBlockBytes - 100, kBlockBytes));
  }
  CHECK(server.status().passed == 4);
  CHECK(server.status().stored_blocks == 0);
}

TEST_CASE("the order of first touches is recorded until the start is over") {
  Fixture server;
  const base::SystemClock clock;
  for (const std::uint64_t block : {5U, 1U, 5U, 2U}) {
    REQUIRE(outcome_of(server.read(block * kBlockBytes, 10)).is_there);
  }
  REQUIRE(server.recorder.settle(clock));
  REQUIRE(outcome_of(server.read(0, 10)).is_there);
  REQUIRE(server.recorder.settle(clock));  // only the first call counts
  auto profile = load_block_profile(server.scratch.path("profile"), kLength);
  CHECK(profile.blocks == std::vector<HotBlock>{{5, 0}, {1, 0}, {2, 0}});
  TouchRecorder next(server.scratch.path("profile"), kLength);
  next.touch(1, 2);
  REQUIRE(next.settle(clock));
  profile = load_block_profile(server.scratch.path("profile"), kLength);
  CHECK(profile.blocks == std::vector<HotBlock>{{1, 0}, {2, 0}, {5, 1}});
  CHECK(load_block_profile(server.scratch.path("profile"), kLength + 1).blocks.empty());
}

}  // namespace robustrun::bootstrap::block_supply_test
