#pragma once
// A BlockSupply with its store and reads, over a source that the test controls.

#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bootstrap/blocks/blob_reads.h"
#include "bootstrap/blocks/block_supply.h"
#include "bootstrap/blocks/touch_recorder.h"
#include "tests/support/scratch.h"

namespace robustrun::bootstrap::block_supply_test {

constexpr std::uint64_t kBlocks = 12;
constexpr std::uint64_t kLength = (kBlocks - 1) * kBlockBytes + 4321;
// For events that must happen; much longer than they take.
constexpr auto kSoon = std::chrono::seconds(60);

inline char byte_at(std::uint64_t offset) {
  return static_cast<char>((offset * 2654435761U) >> 24);
}

inline std::string bytes_at(std::uint64_t offset, std::uint64_t length) {
  std::string bytes(length, '\0');
  for (std::uint64_t i = 0; i < length; ++i) bytes[i] = byte_at(offset + i);
  return bytes;
}

// A source that fails, hangs or serves, as the test wants.
class FakeOrigin final : public Origin {
 public:
  FakeOrigin() { blob_ = {std::string(32, 'a'), kLength, "v1"}; }

  [[nodiscard]] const Blob& blob() const override { return blob_; }

  base::Result<base::Nanos> read(std::uint64_t offset, std::span<char> bytes) override {
    const std::uint64_t block = offset / kBlockBytes;
    std::unique_lock lock(mutex_);
    ++asked_[block];
    order_.push_back(block);
    changed_.notify_all();
    changed_.wait(lock, [&] { return !hanging_.contains(block) && !all_hang_; });
    if (fails_left_ > 0) {
      --fails_left_;
      return std::unexpected(failure_);
    }
    lock.unlock();
    const std::string right = bytes_at(offset, bytes.size());
    std::ranges::copy(right, bytes.begin());
    return base::Nanos(1000);
  }

  void fail(int times, base::Errc code) {
    const std::lock_guard lock(mutex_);
    fails_left_ = times;
    failure_ = {code, 0, "cannot read 'fake': it fails"};
  }
  void hang(std::uint64_t block) {
    const std::lock_guard lock(mutex_);
    hanging_.insert(block);
  }
  // Whether more than this many blocks are requested within this time.
  [[nodiscard]] bool wait_more_than(std::size_t count, base::Nanos within) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, within, [&] { return order_.size() > count; });
  }
  void hang_all(bool on) {
    const std::lock_guard lock(mutex_);
    all_hang_ = on;
    hanging_.clear();
    changed_.notify_all();
  }
  [[nodiscard]] int asked(std::uint64_t block) {
    const std::lock_guard lock(mutex_);
    return asked_[block];
  }
  [[nodiscard]] std::vector<std::uint64_t> order() {
    const std::lock_guard lock(mutex_);
    return order_;
  }
  bool wait_asked(std::uint64_t block, int times) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kSoon, [&] { return asked_[block] >= times; });
  }

 private:
  Blob blob_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, int> asked_;
  std::vector<std::uint64_t> order_;
  std::set<std::uint64_t> hanging_;
  bool all_hang_ = false;
  int fails_left_ = 0;
  base::Error failure_;
};

struct Outcome {
  bool is_there = false;
  std::string bytes;
  base::Error error;
};

// Runs like the real clock, and jumps ahead when the test says so.
class AheadClock final : public base::Clock {
 public:
  [[nodiscard]] base::Nanos now() const override { return real_.now() + base::Nanos(ahead_); }
  [[nodiscard]] base::Nanos wall_time() const override { return real_.wall_time(); }
  void go_on(base::Nanos by) { ahead_ += by.count(); }

 private:
  base::SystemClock real_;
  std::atomic<std::int64_t> ahead_ = 0;
};

class Fixture {
 public:
  explicit Fixture(SupplyOptions options = {std::chrono::seconds(60), 4, 0, false},
                   BlockProfile profile = {}) {
    start(options, profile);
  }
  ~Fixture() {
    origin.hang_all(false);
    supply.reset();
  }

  void start(SupplyOptions options, const BlockProfile& profile) {
    store =
        BlockStore::open({scratch.path("cache"), origin.blob().key, kLength, "fake", 0}).value();
    supply.emplace(*store, origin, clock, options, profile);
    reads.emplace(*store, *supply, recorder, clock, options.retry_budget);
  }
  void restart(SupplyOptions options, const BlockProfile& profile) {
    supply.reset();
    reads.reset();
    store.reset();
    start(options, profile);
  }

  std::future<Outcome> read(std::uint64_t offset, std::uint64_t length) {
    auto promise = std::make_shared<std::promise<Outcome>>();
    reads->read(offset, length, [promise](const base::Result<std::span<const char>>& bytes) {
      if (!bytes) return promise->set_value({false, {}, bytes.error()});
      promise->set_value({true, {bytes->begin(), bytes->end()}, {}});
    });
    return promise->get_future();
  }
  [[nodiscard]] BlockServerStatus status() const {
    BlockServerStatus status;
    supply->fill_status(status);
    reads->fill_status(status);
    return status;
  }
  template <class Condition>
  [[nodiscard]] bool wait_until(Condition&& condition) const {
    const auto end = std::chrono::steady_clock::now() + kSoon;
    while (!condition(status())) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }

  test::Scratch scratch;
  AheadClock clock;
  FakeOrigin origin;
  TouchRecorder recorder{scratch.path("profile"), kLength};
  std::unique_ptr<BlockStore> store;
  std::optional<BlockSupply> supply;
  std::optional<BlobReads> reads;
};

inline Outcome outcome_of(std::future<Outcome> future) {
  REQUIRE(future.wait_for(kSoon) == std::future_status::ready);
  return future.get();
}

}  // namespace robustrun::bootstrap::block_supply_test
