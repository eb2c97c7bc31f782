#include "checkpoint/disk/write_rate.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "checkpoint/format/limits.h"
#include "tests/checkpoint/support.h"

namespace write_rate_test {

using namespace robustrun;
using namespace robustrun::checkpoint;
using namespace std::chrono_literals;
using robustrun::test::SampleState;
using robustrun::test::ScratchFolder;

namespace {

// Every reading advances it by a millisecond.
class LookingClock final : public base::Clock {
 public:
  [[nodiscard]] base::Nanos now() const override { return 1ms * ++looks_; }
  [[nodiscard]] base::Nanos wall_time() const override { return now(); }

 private:
  mutable std::atomic<std::int64_t> looks_ = 0;
};

struct RatedStore {
  ScratchFolder scratch{"/dev/shm"};
  std::vector<std::string> directories;
  SampleState state{1, 6'000};  // 24 MB

  Store open(std::uint32_t parity) {
    StoreOptions options;
    for (const char* name : {"a", "b", "c"}) {
      directories.push_back(scratch / name);
      REQUIRE(std::filesystem::create_directory(directories.back()));
      options.mounts.push_back({directories.back(), 1});
    }
    auto opened = Store::open(std::move(options));
    REQUIRE(opened);
    REQUIRE(opened->use_parity(parity));
    return std::move(*opened);
  }
  void save(Store& store, std::uint64_t step) {
    const auto attempt = store.begin(step, 1, {1, {}}, {"n0"});
    REQUIRE(attempt);
    REQUIRE(store.write_part(*attempt, "n0", state.contents));
    REQUIRE(store.commit(*attempt, 1));
  }
  // Data and parity files of the newest attempt.
  [[nodiscard]] std::uint64_t written() const {
    const auto newest = newest_committed(directories);
    REQUIRE(newest);
    std::uint64_t bytes = 0;
    for (const DataFile& file : newest->manifest.files) bytes += file.bytes;
    return bytes;
  }
};

std::chrono::duration<double> time_of(const std::function<void()>& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::steady_clock::now() - began;
}

}  // namespace

TEST_CASE("a request waits as long as its bytes take, after all earlier requests") {
  const LookingClock clock;
  WriteRate rate(clock);
  rate.take(1U << 30U);  // no limit
  CHECK(clock.now() < 5ms);
  rate.limit(1'000);
  const base::Nanos began = clock.now();
  rate.take(20);
  CHECK(clock.now() - began >= 20ms);
  rate.take(5);
  rate.take(5);
  CHECK(clock.now() - began >= 30ms);
}

TEST_CASE("a store writes data and parity within its limit, and they are read back intact") {
  for (const std::uint32_t parity : {0U, 1U}) {
    CAPTURE(parity);
    RatedStore rated;
    Store store = rated.open(parity);
    const auto free = time_of([&] { rated.save(store, 1); });
    const std::uint64_t bytes = rated.written();
    CHECK(bytes >= (parity == 0 ? 24'000'000U : 36'000'000U));
    // Half a second, or three times as long as without a limit if that is more.
    const double wanted = std::max(0.5, 3 * free.count());
    store.limit_writes(static_cast<std::uint64_t>(static_cast<double>(bytes) / wanted));
    const auto limited = time_of([&] { rated.save(store, 2); });
    CHECK(limited.count() >= 0.95 * wanted);
    const auto newest = newest_committed(rated.directories);
    REQUIRE(newest);
    CHECK(newest->attempt.step == 2);
    CHECK(CheckpointReader::open(newest->manifest, newest->folders).verify().empty());
  }
}

TEST_CASE("a waiting save continues when the limit is lifted") {
  RatedStore rated;
  Store store = rated.open(1);
  store.limit_writes(1);  // it would take months
  std::thread saving([&] { rated.save(store, 1); });
  std::this_thread::sleep_for(50ms);
  CHECK_FALSE(newest_committed(rated.directories));
  store.limit_writes(0);
  saving.join();
  CHECK(newest_committed(rated.directories));
}

}  // namespace write_rate_test
