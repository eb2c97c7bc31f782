#include "bootstrap/blocks/content_check.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/sha256.h"
#include "bootstrap/blocks/limits.h"
#include "bootstrap/store/checked_blob.h"
#include "bootstrap/store/limits.h"
#include "tests/support/scratch.h"

namespace content_check_test {

using namespace robustrun;
using namespace robustrun::bootstrap;
using State = ContentCheck::State;

namespace {

constexpr std::uint64_t kBlocks = kVerifyBlocks + 3;
constexpr std::uint64_t kLength = (kBlocks - 1) * kBlockBytes + 4321;

std::string content(std::uint64_t offset, std::uint64_t length) {
  std::string bytes(length, '\0');
  for (std::uint64_t i = 0; i < length; ++i) {
    bytes[i] = static_cast<char>(((offset + i) * 2654435761U) >> 24);
  }
  return bytes;
}

class WholeOrigin final : public Origin {
 public:
  [[nodiscard]] const Blob& blob() const override { return blob_; }
  base::Result<base::Nanos> read(std::uint64_t offset, std::span<char> bytes) override {
    ++asked;
    std::ranges::copy(content(offset, bytes.size()), bytes.begin());
    return base::Nanos(1000);
  }
  std::atomic<int> asked{0};

 private:
  Blob blob_{std::string(32, 'a'), kLength, "v1"};
};

class SetClock final : public base::Clock {
 public:
  [[nodiscard]] base::Nanos now() const override { return time; }
  [[nodiscard]] base::Nanos wall_time() const override { return time; }
  base::Nanos time{std::chrono::hours(1)};
};

template <class Condition>
bool wait_until(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// A store that has all blocks.
struct Place {
  Place() {
    for (std::uint64_t block = 0; block < kBlocks; ++block) {
      const std::string bytes = content(block * kBlockBytes, bytes_of_block(kLength, block));
      REQUIRE(store->keep(block, bytes).value());
    }
  }
  ~Place() { supply.reset(); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  [[nodiscard]] std::unique_ptr<ContentCheck> check(const std::string& sha256) {
    return std::make_unique<ContentCheck>(*store, *supply, clock, cache, sha256);
  }
  // The state once the check no longer runs.
  State outcome(ContentCheck& check) {
    clock.time += base::Nanos(kCheckPause);
    State state = State::kReading;
    REQUIRE(wait_until([&] { return (state = check.tick(true)) != State::kReading; }));
    return state;
  }
  void damage(std::uint64_t block) const {
    const std::string data = cache + "/blocks/" + origin.blob().key + "/data";
    const base::Fd fd(::open(data.c_str(), O_WRONLY | O_CLOEXEC));
    const auto place = static_cast<off_t>(block * kBlockBytes + 100);
    REQUIRE(::pwrite(fd.get(), "damage", 6, place) == 6);
  }
  [[nodiscard]] bool is_checked(const std::string& sha256) const {
    return is_checked_blob(cache, origin.blob().key, sha256);
  }

  test::Scratch scratch;
  std::string cache = scratch.path("cache");
  base::SystemClock supply_clock;
  SetClock clock;
  WholeOrigin origin;
  std::unique_ptr<BlockStore> store =
      BlockStore::open({cache, origin.blob().key, kLength, "fake", 0}).value();
  std::unique_ptr<BlockSupply> supply = std::make_unique<BlockSupply>(
      *store, origin, supply_clock, SupplyOptions{std::chrono::seconds(60), 4, 0, false, {}},
      BlockProfile{});
  std::string right = base::to_hex(base::sha256(content(0, kLength)));
};

}  // namespace

TEST_CASE("an image is right if all of it is here and has the digest, and that is remembered") {
  Place place;
  const auto check = place.check(place.right);
  CHECK(check->tick(false) == State::kOpen);
  CHECK_FALSE(check->is_right());
  CHECK(place.outcome(*check) == State::kRight);
  CHECK(place.is_checked(place.right));
  CHECK(place.check(place.right)->is_right());
  CHECK_FALSE(place.check(std::string(64, '0'))->is_right());
  CHECK(place.origin.asked == 0);
}

TEST_CASE("an image with other content is wrong for good") {
  Place place;
  const std::string wanted(64, '0');
  const auto check = place.check(wanted);
  CHECK(place.outcome(*check) == State::kWrong);
  CHECK(check->found() == place.right);
  CHECK_FALSE(place.is_checked(wanted));
  CHECK(place.outcome(*check) == State::kWrong);
}

TEST_CASE("rotten blocks are fetched again before an image is right") {
  Place place;
  const auto check = place.check(place.right);
  std::uint64_t block = 0;
  SUBCASE("before the check") {
    block = kVerifyBlocks + 1;
    place.damage(block);
    CHECK(place.outcome(*check) == State::kOpen);
  }
  SUBCASE("after it was right") {
    block = 2;
    CHECK(place.outcome(*check) == State::kRight);
    place.damage(block);
    std::string bytes(kBlockBytes, 'x');
    REQUIRE_FALSE(place.store->read(block, bytes).value());
    CHECK_FALSE(place.is_checked(place.right));
    CHECK(place.outcome(*check) == State::kOpen);
  }
  CHECK(check->tick(true) == State::kOpen);  // not immediately
  REQUIRE(wait_until([&]() -> bool { return place.store->present().value()[block]; }));
  CHECK(place.outcome(*check) == State::kRight);
  CHECK(place.origin.asked == 1);
  CHECK(place.is_checked(place.right));
}

}  // namespace content_check_test
