#include "loader/read/read_ahead.h"

#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tests/loader/read/token_folder.h"

namespace read_ahead_test {
// Reads of tokens until one hangs, as those of a dead mount do, until `goes_on`.
std::atomic<int> reads_left = std::numeric_limits<int>::max();
std::atomic<bool> hangs = false;
std::atomic<bool> goes_on = false;
}  // namespace read_ahead_test

// In place of the C library's.
ssize_t pread(int fd, void* into, size_t bytes, off_t at) {
  if (read_ahead_test::reads_left-- == 0) {
    read_ahead_test::hangs = true;
    read_ahead_test::hangs.notify_one();
    read_ahead_test::goes_on.wait(false);
  }
  return ::syscall(SYS_pread64, fd, into, bytes, at);
}

namespace read_ahead_test {

using namespace robustrun;
using namespace robustrun::loader;
using loader_test::Folder;
using loader_test::spec_of;

// Documents of 20 tokens in sequences of 8, two micro-batches of two sequences to each of two
// ranks: steps carry pieces to the next one, and padding occurs.
Spec two_micros() {
  Spec spec = spec_of(8, 8);
  spec.batch.micro = 2;
  return spec;
}

std::unique_ptr<Feed> feed_of(const Folder& folder) {
  auto opened = Feed::open(two_micros(), folder.path(), 1, 2);
  REQUIRE(opened);
  return *std::move(opened);
}

// All that a batch consists of, as numbers.
using Numbers = std::vector<std::int64_t>;

Numbers numbers_of(const Feed::Step& step, std::uint32_t micro, std::uint64_t labels,
                   const BatchOut& out) {
  Numbers all{static_cast<std::int64_t>(step.plan.step), micro, static_cast<std::int64_t>(labels)};
  all.insert(all.end(), out.tokens.begin(), out.tokens.end());
  all.insert(all.end(), out.labels.begin(), out.labels.end());
  all.insert(all.end(), out.positions.begin(), out.positions.end());
  all.insert(all.end(), out.segments.begin(), out.segments.end());
  return all;
}

Numbers numbers_of(const Batch& batch) {
  return numbers_of(*batch.step, batch.micro, batch.labels, batch.memory->out(batch.segments));
}

// Each batch read when it is asked for, without a thread, until `count` are read or an error
// occurs.
std::vector<Numbers> read_at_once(Feed& feed, std::size_t count, std::string* error = nullptr) {
  std::vector<Numbers> read;
  while (read.size() < count) {
    REQUIRE(feed.next_step());
    for (std::uint32_t micro = 0; micro < 2; ++micro) {
      const BatchMemory memory(feed.places());
      const BatchOut out = memory.out(feed.segment_ends(micro));
      const auto labels = feed.read(micro, out);
      if (!labels) {
        REQUIRE(error != nullptr);
        *error = labels.error().what;
        return read;
      }
      read.push_back(numbers_of(*feed.present(), micro, *labels, out));
    }
  }
  return read;
}

Batch received(ReadAhead& ahead) {
  const auto ready = ahead.ready();
  REQUIRE(ready);
  Batch batch = **ready;
  ahead.receive(batch.step->plan.step, batch.micro);
  return batch;
}

TEST_CASE("batches that are read ahead are those that are read when asked for") {
  const Folder folder(40, 20);
  const auto expected = read_at_once(*feed_of(folder), 60);
  ReadAhead ahead(feed_of(folder));
  for (const Numbers& batch : expected) CHECK(numbers_of(received(ahead)) == batch);
}

TEST_CASE("a batch stays the next one until it is received") {
  const Folder folder(40, 20);
  ReadAhead ahead(feed_of(folder));
  const Numbers first = numbers_of(**ahead.ready());
  CHECK(numbers_of(**ahead.ready()) == first);
  CHECK(ahead.step() == nullptr);
  for (const auto& [step, micro] : {std::pair{0U, 1U}, {1U, 0U}}) ahead.receive(step, micro);
  CHECK(ahead.step() == nullptr);  // none of them is ready
  ahead.receive(0, 0);
  ahead.receive(0, 0);  // nothing to receive: no batch is lost
  CHECK(ahead.step()->plan.step == 0);
  const Numbers second = read_at_once(*feed_of(folder), 2)[1];
  CHECK(numbers_of(**ahead.ready()) == second);
  ahead.receive(0, 0);
  CHECK(numbers_of(**ahead.ready()) == second);
}

TEST_CASE("the position is that of what was received, wherever it is taken") {
  const Folder folder(40, 20);
  const auto expected = read_at_once(*feed_of(folder), 24);
  ReadAhead ahead(feed_of(folder));
  for (std::size_t at = 0; at < 20; ++at) {
    for (const bool is_ready : {false, true}) {
      if (is_ready) REQUIRE(ahead.ready());
      ReadAhead other(feed_of(folder));
      REQUIRE(other.seek(ahead.cursor(), ahead.micro()));
      CHECK(other.micro() == at % 2);
      CHECK(other.cursor().step == at / 2);
      for (std::size_t next = at; next < at + 4; ++next) {
        CHECK(numbers_of(received(other)) == expected[next]);
      }
    }
    received(ahead);
  }
}

TEST_CASE("after a seek nothing of what was read ahead before is given") {
  const Folder folder(40, 20);
  const auto expected = read_at_once(*feed_of(folder), 8);
  ReadAhead ahead(feed_of(folder));
  received(ahead);
  const Cursor cursor = ahead.cursor();
  for (int i = 0; i < 5; ++i) received(ahead);
  REQUIRE(ahead.seek(cursor, 1));
  CHECK(ahead.step() == nullptr);
  for (std::size_t at = 1; at < 8; ++at) CHECK(numbers_of(received(ahead)) == expected[at]);
}

TEST_CASE("a read that hangs is named, and a seek does not wait for it") {
  const Folder folder(40, 20);
  const auto expected = read_at_once(*feed_of(folder), 8);
  const auto at_once = feed_of(folder);
  REQUIRE(at_once->next_step());
  const BatchMemory memory(at_once->places());
  constexpr int kMany = 1'000'000;
  reads_left = kMany;
  REQUIRE(at_once->read(0, memory.out(at_once->segment_ends(0))));
  const int of_first = kMany - reads_left;
  reads_left = of_first;
  ReadAhead ahead(feed_of(folder));
  while (!*ahead.wait(std::chrono::minutes(1))) {
  }
  CHECK(numbers_of(received(ahead)) == expected[0]);
  hangs.wait(false);  // in the batch after it
  CHECK_FALSE(*ahead.wait(std::chrono::milliseconds(1)));
  const auto reading = ahead.reading();
  REQUIRE(reading);
  CHECK(*reading->source == "set");
  CHECK(reading->path == folder.tokens().string());
  REQUIRE(ahead.seek({}, 1));
  for (std::size_t at = 1; at < 8; ++at) CHECK(numbers_of(received(ahead)) == expected[at]);
  goes_on = true;
  goes_on.notify_one();
}

TEST_CASE("a seek that is refused leaves the loader where it was") {
  const Folder folder(40, 20);
  const auto expected = read_at_once(*feed_of(folder), 8);
  ReadAhead ahead(feed_of(folder));
  for (std::size_t at = 0; at < 8; ++at) {
    Cursor nowhere;
    nowhere.sources.resize(1);
    nowhere.carry = {Piece{1, 0, 8, 0}};
    CHECK_FALSE(ahead.seek(nowhere, 0));
    CHECK_FALSE(ahead.seek({}, 2));
    CHECK(numbers_of(received(ahead)) == expected[at]);
  }
}

TEST_CASE("an error is that of its batch, and the next call tries again") {
  const Folder folder(40, 20);
  const auto expected = read_at_once(*feed_of(folder), 60);
  const std::string tokens = loader_test::contents(folder.tokens());
  const auto at_once = feed_of(folder);
  ReadAhead ahead(feed_of(folder));
  // Without the last documents: some batches before the first one with an error are whole.
  std::filesystem::resize_file(folder.tokens(), tokens.size() * 7 / 8);
  std::string error;
  const std::size_t whole = read_at_once(*at_once, 60, &error).size();
  REQUIRE(whole > 1);
  REQUIRE(whole < 59);
  REQUIRE(error.find("the file has become shorter") != std::string::npos);

  for (std::size_t at = 0; at < whole; ++at) {
    CHECK(numbers_of(received(ahead)) == expected[at]);
  }
  for (int tried = 0; tried < 2; ++tried) {
    const auto ready = ahead.ready();
    REQUIRE_FALSE(ready);
    CHECK(ready.error().what == error);
    CHECK(ahead.micro() == whole % 2);
    CHECK(ahead.cursor().step == whole / 2);
  }
  loader_test::write(folder.tokens(), tokens);
  for (std::size_t at = whole; at < 60; ++at) CHECK(numbers_of(received(ahead)) == expected[at]);
}

TEST_CASE("memory is used again, but not that of a batch which is still held") {
  const Folder folder(40, 20);
  const auto expected = read_at_once(*feed_of(folder), 60);
  ReadAhead ahead(feed_of(folder));
  const Batch held = received(ahead);
  std::set<const void*> blocks;
  Batch present;
  for (std::size_t at = 1; at < 60; ++at) {
    present = received(ahead);
    blocks.insert(present.memory->block());
  }
  CHECK(numbers_of(held) == expected[0]);
  CHECK_FALSE(blocks.contains(held.memory->block()));
  // Mostly three: in use, ready or being read, spare. One that is given back late is freed instead,
  // and a sanitizer's allocator does not hand out its address again.
  CHECK(blocks.size() < 40);
}

TEST_CASE("a batch outlives its loader") {
  const Folder folder(40, 20);
  const auto expected = read_at_once(*feed_of(folder), 2);
  Batch batch;
  {
    ReadAhead ahead(feed_of(folder));
    batch = received(ahead);
  }
  CHECK(numbers_of(batch) == expected[0]);
}

TEST_CASE("a loader may end while the thread reads, at any moment") {
  const Folder folder(40, 20);
  for (int batches = 0; batches < 200; ++batches) {
    ReadAhead ahead(feed_of(folder));
    for (int i = 0; i < batches % 3; ++i) received(ahead);
  }
}

}  // namespace read_ahead_test
