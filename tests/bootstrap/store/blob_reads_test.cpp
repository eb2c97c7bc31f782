#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/io/fd.h"
#include "bootstrap/blocks/blob_reads.h"
#include "bootstrap/blocks/block_supply.h"
#include "tests/support/scratch.h"

namespace blob_reads_test {

using namespace robustrun;
using namespace robustrun::bootstrap;

namespace {

constexpr std::uint64_t kBlocks = 6;
constexpr std::uint64_t kLength = (kBlocks - 1) * kBlockBytes + 4321;

std::string bytes_at(std::uint64_t offset, std::uint64_t length) {
  std::string bytes(length, '\0');
  for (std::uint64_t i = 0; i < length; ++i) {
    bytes[i] = static_cast<char>(((offset + i) * 2654435761U) >> 24);
  }
  return bytes;
}

class CountingOrigin final : public Origin {
 public:
  [[nodiscard]] const Blob& blob() const override { return blob_; }
  base::Result<base::Nanos> read(std::uint64_t offset, std::span<char> bytes) override {
    ++asked[offset / kBlockBytes];
    if (is_away) return base::fail(base::Errc::kNotFound, "it is away");
    std::ranges::copy(bytes_at(offset, bytes.size()), bytes.begin());
    return base::Nanos(1000);
  }
  std::array<std::atomic<int>, kBlocks> asked{};
  std::atomic<bool> is_away{false};

 private:
  Blob blob_{std::string(32, 'a'), kLength, "v1"};
};

class StillClock final : public base::Clock {
 public:
  [[nodiscard]] base::Nanos now() const override { return time; }
  [[nodiscard]] base::Nanos wall_time() const override { return time; }
  std::atomic<base::Nanos> time{std::chrono::hours(1)};
};

std::string answer_of(BlobReads& reads, std::uint64_t offset, std::uint64_t length) {
  auto promise = std::make_shared<std::promise<std::string>>();
  auto answer = promise->get_future();
  reads.read(offset, length, [promise](const base::Result<std::span<const char>>& bytes) {
    promise->set_value(bytes ? std::string(bytes->begin(), bytes->end()) : bytes.error().what);
  });
  REQUIRE(answer.wait_for(std::chrono::seconds(20)) == std::future_status::ready);
  return answer.get();
}

struct Fixture {
  [[nodiscard]] std::string read(std::uint64_t offset, std::uint64_t length) {
    return answer_of(reads, offset, length);
  }
  void damage(std::uint64_t block) const {
    const base::Fd fd(::open(data.c_str(), O_WRONLY | O_CLOEXEC));
    const auto place = static_cast<off_t>(block * kBlockBytes + 100);
    REQUIRE(::pwrite(fd.get(), "damage", 6, place) == 6);
  }
  // Whether the file system supports reads without waiting.
  [[nodiscard]] bool has_reads_at_once() const {
    const base::Fd fd(::open(data.c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 20> bytes{};
    const iovec part{bytes.data(), bytes.size()};
    return ::preadv2(fd.get(), &part, 1, 3, RWF_NOWAIT) == static_cast<ssize_t>(bytes.size());
  }
  [[nodiscard]] BlockServerStatus status() const {
    BlockServerStatus status;
    supply->fill_status(status);
    reads.fill_status(status);
    return status;
  }
  ~Fixture() { supply.reset(); }

  test::Scratch scratch;
  base::SystemClock clock;
  CountingOrigin origin;
  TouchRecorder recorder{scratch.path("profile"), kLength};
  std::unique_ptr<BlockStore> store =
      BlockStore::open({scratch.path("cache"), origin.blob().key, kLength, "fake", 0}).value();
  std::string data = scratch.path("cache") + "/blocks/" + origin.blob().key + "/data";
  std::unique_ptr<BlockSupply> supply = std::make_unique<BlockSupply>(
      *store, origin, clock, SupplyOptions{std::chrono::seconds(60), 4, 0, false, {}},
      BlockProfile{});
  BlobReads reads{*store, *supply, recorder, clock, std::chrono::seconds(60)};
};

}  // namespace

TEST_CASE("a read of whole blocks is checked every time") {
  Fixture server;
  REQUIRE(server.read(0, kLength) == bytes_at(0, kLength));
  const std::uint64_t from_store = server.status().store_bytes;
  CHECK(server.read(0, kBlockBytes) == bytes_at(0, kBlockBytes));
  CHECK(server.status().store_bytes == from_store + kBlockBytes);
  server.damage(1);
  CHECK(server.read(kBlockBytes, kBlockBytes) == bytes_at(kBlockBytes, kBlockBytes));
  CHECK(server.status().rotten == 1);
  CHECK(server.origin.asked[1] == 2);
  // Several blocks at once, including the short last one: only the damaged one is fetched.
  server.damage(4);
  for (int round = 0; round < 2; ++round) {
    CHECK(server.read(3 * kBlockBytes, 3 * kBlockBytes) ==
          bytes_at(3 * kBlockBytes, 2 * kBlockBytes + 4321));
  }
  CHECK(server.status().rotten == 2);
  CHECK(server.origin.asked[3] == 1);
  CHECK(server.origin.asked[4] == 2);
  CHECK(server.origin.asked[5] == 1);
}

TEST_CASE("a part of a checked block in memory is answered at once") {
  Fixture server;
  REQUIRE(server.read(0, 10) == bytes_at(0, 10));
  bool is_at_once = false;
  std::promise<std::string> answer;
  auto future = answer.get_future();
  server.reads.read(3, 20, [&, caller = std::this_thread::get_id()](const auto& bytes) {
    is_at_once = std::this_thread::get_id() == caller;
    answer.set_value(bytes ? std::string(bytes->begin(), bytes->end()) : bytes.error().what);
  });
  CHECK(future.get() == bytes_at(3, 20));
  CHECK(is_at_once == server.has_reads_at_once());
  CHECK(server.recorder.touched() == 1);
  CHECK(server.status().store_bytes >= 20);
  CHECK(server.status().waiting == 0);
}

TEST_CASE("once reads are refused, none is answered, whatever is in the store") {
  Fixture server;
  REQUIRE(server.read(0, kLength) == bytes_at(0, kLength));
  server.reads.refuse({base::Errc::kConflict, 0, "it is another content"});
  REQUIRE(server.store->forget_all());
  for (const std::uint64_t length : {std::uint64_t{10}, kBlockBytes, kLength}) {
    CHECK(server.read(0, length) == "it is another content");
  }
  CHECK(server.origin.asked[0] == 1);
}

TEST_CASE("a block that could not be fetched is not requested again at once, and is reported") {
  Fixture server;
  StillClock clock;
  BlobReads reads(*server.store, *server.supply, server.recorder, clock, std::chrono::seconds(60));
  std::vector<std::string> reported;
  reads.on_failure([&](const std::string& why) { reported.push_back(why); });
  const auto read = [&](std::uint64_t offset, std::uint64_t length) {
    return answer_of(reads, offset, length);
  };
  REQUIRE(read(0, kBlockBytes) == bytes_at(0, kBlockBytes));
  server.origin.is_away = true;
  CHECK(read(kBlockBytes, 10) == "it is away");
  CHECK(reported == std::vector<std::string>{"it is away"});
  server.origin.is_away = false;
  for (const std::uint64_t offset : {kBlockBytes, kBlockBytes + 4096}) {
    CHECK(read(offset, 10) == "it is away");
  }
  CHECK(read(0, 2 * kBlockBytes) == "it is away");
  CHECK(server.origin.asked[1] == 1);
  CHECK(reported.size() == 1);  // reported a moment ago
  // Other blocks are requested as always.
  CHECK(read(2 * kBlockBytes, 10) == bytes_at(2 * kBlockBytes, 10));
  SUBCASE("until the source answers") { reads.forget_failures(); }
  SUBCASE("for a while") { clock.time = clock.now() + base::Nanos(kFailedFor); }
  CHECK(read(kBlockBytes, 10) == bytes_at(kBlockBytes, 10));
  server.supply.reset();
}

}  // namespace blob_reads_test
