#include "tracer/record_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "base/core/clock.h"
#include "tests/scratch_folder.h"
#include "tracer/progress_record.h"
#include "tracer/record_collectives.h"

namespace record_file_test {

using namespace robustrun;
using base::Attempt;
using base::Errc;
using base::Nanos;
using base::Rank;
using tracer::ProgressRecord;
using tracer::RecordFile;

namespace {

// A record file, and writes as the worker makes them.
struct Fixture {
  test::ScratchFolder folder;
  std::string path = folder / "0.record";
  base::Result<RecordFile> file = RecordFile::create(path, Rank{3}, Attempt{2});

  void store(std::size_t offset, const void* data, std::size_t size) const {
    const base::Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(::pwrite(fd.get(), data, size, static_cast<off_t>(offset)) ==
            static_cast<ssize_t>(size));
  }
  void store(std::size_t offset, std::uint64_t word) const { store(offset, &word, sizeof word); }
  [[nodiscard]] ProgressRecord load() const {
    ProgressRecord record;
    const base::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(::pread(fd.get(), &record, sizeof record, 0) == static_cast<ssize_t>(sizeof record));
    return record;
  }
  [[nodiscard]] Errc error() const {
    const auto reading = file->read();
    REQUIRE(!reading);
    return reading.error().code;
  }
};

#define AT(member) offsetof(ProgressRecord, member)

}  // namespace

TEST_CASE("two marks show how far the script's end has come, in order") {
  using base::ScriptEnd;
  const Fixture f;
  REQUIRE(f.file);
  CHECK(f.file->read_end().script_end() == ScriptEnd::kNotSeen);
  f.store(tracer::kRecordEndAt + 8, 7);
  CHECK(f.file->read_end().script_end() == ScriptEnd::kNotSeen);
  f.store(tracer::kRecordEndAt, 5);
  CHECK(f.file->read_end().script_end() == ScriptEnd::kFinished);
  f.store(tracer::kRecordEndAt + 8, 0);
  CHECK(f.file->read_end().script_end() == ScriptEnd::kReturned);
  CHECK(tracer::kRecordEndAt == tracer::kCountersAt + sizeof(tracer::RecordCounters));
  REQUIRE(::truncate(f.path.c_str(), tracer::kRecordEndAt + 8) == 0);
  CHECK(f.file->read_end().script_end() == ScriptEnd::kNotSeen);
}

TEST_CASE("a new record is private, complete, allocated, and reads as empty") {
  const Fixture f;
  REQUIRE(f.file);
  struct stat found{};
  REQUIRE(::stat(f.path.c_str(), &found) == 0);
  CHECK((found.st_mode & 07777) == 0600);
  CHECK(found.st_size == static_cast<off_t>(tracer::kCollectivesEnd));
  CHECK(found.st_blocks * 512 >= found.st_size);
  const ProgressRecord record = f.load();
  CHECK(record.magic == tracer::kRecordMagic);
  CHECK(record.rank == 3);
  CHECK(record.attempt == 2);
  const auto reading = f.file->read();
  REQUIRE(reading);
  CHECK(*reading == tracer::Reading{});
}

TEST_CASE("without a change there is no news, and a poll costs one read") {
  Fixture f;
  REQUIRE(f.file);
  const auto news = [&f] {
    auto read = f.file->read_news();
    REQUIRE(read);
    return *std::move(read);
  };
  CHECK(news() == tracer::Reading{});
  CHECK_FALSE(news());
  f.store(AT(steps), 7);
  CHECK(news()->steps == 7);
  f.store(AT(imports_done_at_ns), 30);  // not under the lock
  CHECK(news()->start.imports_done_at == Nanos(30));
  CHECK_FALSE(news());
  const auto reads = [] {
    const std::string io = *base::read_file("/proc/self/io", 4096);
    const std::size_t at = io.find("syscr: ");
    REQUIRE(at != io.npos);
    return std::stoull(io.substr(at + 7));
  };
  const auto before = reads();
  const auto of_looking_here = reads() - before;
  const auto begin = reads();
  for (int i = 0; i < 100; ++i) CHECK_FALSE(news());
  CHECK(reads() - begin == 100 + of_looking_here);
}

TEST_CASE("waits for training data are read, with what is awaited while they last") {
  Fixture f;
  REQUIRE(f.file->read_news());
  const auto data_at = [](std::size_t member) { return tracer::kRecordDataAt + member; };
  f.store(data_at(offsetof(tracer::RecordData, data_source)), "web\0", 4);
  f.store(data_at(offsetof(tracer::RecordData, data_path)), "/data/w\neb.bin\0", 15);
  f.store(data_at(offsetof(tracer::RecordData, data_batches)), 3);
  f.store(data_at(offsetof(tracer::RecordData, data_skipped)), 2);
  f.store(data_at(offsetof(tracer::RecordData, data_waited_ns)), 40);
  auto news = f.file->read_news();
  REQUIRE((news && *news));
  CHECK(
      (*news)->data ==
      tracer::DataWaits{.batches = 3, .skipped = 2, .waited = Nanos(40), .since = {}, .place = {}});
  CHECK_FALSE(*f.file->read_news());
  f.store(data_at(offsetof(tracer::RecordData, data_waiting_since_ns)), 70);
  news = f.file->read_news();
  REQUIRE((news && *news));
  CHECK((*news)->data.since == Nanos(70));
  CHECK((*news)->data.place == "source web, /data/w\\x0aeb.bin");
  CHECK(f.file->read_data() == (*news)->data);
  f.store(data_at(offsetof(tracer::RecordData, data_sequence)), 1);  // the texts are being written
  CHECK(f.file->read_data().place.empty());
  CHECK(f.file->read_data().since == Nanos(70));
  f.store(data_at(offsetof(tracer::RecordData, data_waited_ns)), ~std::uint64_t{0});
  CHECK(f.file->read_data() == tracer::DataWaits{});
  REQUIRE(::truncate(f.path.c_str(), tracer::kRecordDataAt + 8) == 0);
  CHECK(f.file->read_data() == tracer::DataWaits{});
}

TEST_CASE("a half-finished write is news again when it is finished") {
  Fixture f;
  REQUIRE(f.file->read_news());
  f.store(AT(sequence), 1);
  f.store(AT(steps), 3);
  const auto half = f.file->read_news();
  REQUIRE_FALSE(half);
  CHECK(half.error().code == Errc::kUnavailable);
  f.store(AT(sequence), 2);
  CHECK((*f.file->read_news())->steps == 3);
  CHECK_FALSE(*f.file->read_news());
}

TEST_CASE("a record that is truncated and restored is news again") {
  Fixture f;
  REQUIRE(f.file->read_news());
  std::string all = *base::read_file(f.path, tracer::kCollectivesEnd);
  REQUIRE(::truncate(f.path.c_str(), 100) == 0);
  CHECK_FALSE(f.file->read_news());
  f.store(0, all.data(), all.size());
  const auto mended = f.file->read_news();
  REQUIRE(mended);
  CHECK(*mended == tracer::Reading{});
}

TEST_CASE("a poll shows whether the first communicator slot is in use") {
  Fixture f;
  REQUIRE(f.file->read_news());
  CHECK_FALSE(f.file->has_first_communicator());
  f.store(tracer::kCommunicatorsAt + offsetof(tracer::RecordCommunicator, in_use), 1);
  REQUIRE(f.file->read_news());
  CHECK(f.file->has_first_communicator());
  CHECK_FALSE(*f.file->read_news());
}

TEST_CASE("what the worker stores is read") {
  const Fixture f;
  f.store(AT(worker_pid), 4242);
  f.store(AT(boot_at_ns), 10);
  f.store(AT(user_code_at_ns), 20);
  f.store(AT(steps), 7);
  f.store(AT(first_step_at_ns), 30);
  f.store(AT(last_step_at_ns), 40);
  f.store(AT(has_step), 1);
  f.store(AT(step), ~std::uint64_t{0});
  tracer::RecordMetric metrics[3] = {};
  std::strcpy(metrics[0].name.data(), "loss");
  metrics[0].value = 0.5;
  metrics[1].value = 1;  // without a name: left out
  std::memset(metrics[2].name.data(), 'x', tracer::kMetricNameBytes);  // without a NUL
  metrics[2].value = -1e300;
  f.store(AT(metrics), metrics, sizeof metrics);
  f.store(AT(metric_count), 3);
  f.store(AT(sequence), 2);

  const auto reading = f.file->read();
  REQUIRE(reading);
  tracer::Reading expected;
  expected.worker_pid = 4242;
  expected.steps = 7;
  expected.step = -1;
  expected.boot_at = Nanos(10);
  expected.user_code_at = Nanos(20);
  expected.first_step_at = Nanos(30);
  expected.last_step_at = Nanos(40);
  expected.metrics = {{"loss", 0.5}, {std::string(tracer::kMetricNameBytes, 'x'), -1e300}};
  CHECK(*reading == expected);
}

TEST_CASE("marks of the start are read, and an impossible one counts as missing") {
  const Fixture f;
  f.store(AT(imports_done_at_ns), 1);
  f.store(AT(group_begin_at_ns), 11);
  f.store(AT(group_done_at_ns), 12);
  f.store(AT(load_begin_at_ns), 13);
  f.store(AT(load_done_at_ns), std::uint64_t{1} << 63);
  f.store(AT(optimizer_at_ns), 15);
  const auto reading = f.file->read();
  REQUIRE(reading);
  CHECK(reading->start ==
        tracer::StartMarks{Nanos(1), Nanos(11), Nanos(12), Nanos(13), {}, Nanos(15)});
}

TEST_CASE("there is no step until the script reports one") {
  const Fixture f;
  f.store(AT(step), 9);
  CHECK(!f.file->read()->step);
}

TEST_CASE("a metric that is NaN is passed on") {
  const Fixture f;
  tracer::RecordMetric metric{};
  std::strcpy(metric.name.data(), "loss");
  metric.value = std::nan("");
  f.store(AT(metrics), &metric, sizeof metric);
  f.store(AT(metric_count), 1);
  REQUIRE(f.file->read());
  CHECK(std::isnan(f.file->read()->metrics.at(0).second));
}

TEST_CASE("names of metrics cannot carry control characters or broken text") {
  const Fixture f;
  tracer::RecordMetric metric{};
  std::strcpy(metric.name.data(), "\x1b[2Ja\xff");
  f.store(AT(metrics), &metric, sizeof metric);
  f.store(AT(metric_count), 1);
  CHECK(f.file->read()->metrics.at(0).first == "\\x1b[2Ja\\xff");
}

TEST_CASE("a record that the worker truncated is corrupt, not a crash") {
  const Fixture f;
  for (const off_t size : {0, 1, 90, 655, 703}) {
    REQUIRE(::truncate(f.path.c_str(), size) == 0);
    CHECK(f.error() == Errc::kCorrupt);
  }
}

TEST_CASE("garbage, a false version and absurd counts are corrupt") {
  const Fixture f;
  SUBCASE("noise all over") {
    const std::string noise(tracer::kRecordBytes, '\xfe');
    f.store(0, noise.data(), noise.size());
  }
  SUBCASE("first bytes") { f.store(AT(magic), 0); }
  SUBCASE("version") { f.store(AT(major), 99); }
  SUBCASE("number of metrics") { f.store(AT(metric_count), tracer::kMetricsMax + 1); }
  SUBCASE("a huge number of metrics") { f.store(AT(metric_count), ~std::uint64_t{0}); }
  SUBCASE("step flag") { f.store(AT(has_step), 2); }
  SUBCASE("a time beyond the clock") { f.store(AT(last_step_at_ns), std::uint64_t{1} << 63); }
  CHECK(f.error() == Errc::kCorrupt);
}

TEST_CASE("a worker that dies in the middle of a write gives an error, not a hang") {
  const Fixture f;
  f.store(AT(sequence), 7);
  CHECK(f.error() == Errc::kUnavailable);
  f.store(AT(sequence), 8);
  CHECK(f.file->read());
}

TEST_CASE("a minor version that we do not know is read") {
  const Fixture f;
  const std::uint32_t minor = 77;
  f.store(AT(minor), &minor, sizeof minor);
  CHECK(f.file->read());
}

TEST_CASE("the record is readable after its file was removed") {
  Fixture f;
  f.store(AT(steps), 5);
  f.file->unlink();
  CHECK(::access(f.path.c_str(), F_OK) != 0);
  REQUIRE(f.file->read());
  CHECK(f.file->read()->steps == 5);
}

TEST_CASE("the whole file is read, or as much of it as the worker left") {
  const Fixture f;
  f.store(tracer::kCollectivesEnd - 8, 77);
  f.store(tracer::kCommunicatorsAt, 5);
  const auto all = f.file->read_all();
  REQUIRE(all);
  CHECK(all->size() == tracer::kCollectivesEnd);
  CHECK(all->at(tracer::kCollectivesEnd - 8) == 77);
  CHECK(f.file->read_communicators()->size() == tracer::kOperationsAt - tracer::kCommunicatorsAt);
  CHECK(f.file->read_communicators()->at(0) == 5);
  REQUIRE(::truncate(f.path.c_str(), 5000) == 0);
  CHECK(f.file->read_all()->size() == 5000);
  CHECK(f.file->read_communicators()->size() == 5000 - tracer::kCommunicatorsAt);
  REQUIRE(::truncate(f.path.c_str(), 1 << 20) == 0);
  CHECK(f.file->read_all()->size() == tracer::kCollectivesEnd);
}

TEST_CASE("the agent's request for events is where the plugin reads it") {
  Fixture f;
  REQUIRE(f.file->set_event_mask(0xe46));
  std::uint64_t wanted = 0;
  const base::Fd fd(::open(f.path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(::pread(fd.get(), &wanted, sizeof wanted, tracer::kWantedMaskAt) == 8);
  CHECK(wanted == 0xe46);
  CHECK(f.file->read());
}

TEST_CASE("a stop is announced with its deadline in the control word") {
  Fixture f;
  REQUIRE(f.file->announce_stop(2, Nanos(123'456)));
  CHECK(f.load().stop_reason == 2);
  CHECK(f.load().stop_deadline_ns == 123'456);
  REQUIRE(f.file->announce_stop(3, Nanos(0)));
  CHECK(f.load().stop_reason == 3);
  CHECK(f.load().stop_deadline_ns == 0);
}

TEST_CASE("an existing file at the path is replaced, never written through") {
  const test::ScratchFolder folder;
  const std::string victim = folder.write("victim", "untouched");
  const std::string path = folder / "record";
  REQUIRE(::symlink(victim.c_str(), path.c_str()) == 0);
  REQUIRE(RecordFile::create(path, Rank{0}, Attempt{0}));
  CHECK(std::filesystem::file_size(victim) == 9);
  CHECK(!std::filesystem::is_symlink(path));
}

TEST_CASE("if a record cannot be created, the error names the file") {
  const auto file = RecordFile::create("/nonexistent/record", Rank{0}, Attempt{0});
  REQUIRE(!file);
  CHECK(file.error().os_errno == ENOENT);
  CHECK(file.error().what.find("/nonexistent/record") != std::string::npos);
}

TEST_CASE("any bytes decode to a reading or to an error") {
  const std::uint64_t seed = base::system_seed();
  INFO("seed ", seed);
  base::Rng rng(seed);
  const Fixture f;
  const ProgressRecord good = f.load();
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(sizeof good, '\0');
    std::memcpy(bytes.data(), &good, sizeof good);
    for (int i = 0; i < 8; ++i)
      bytes[64 + rng.below(bytes.size() - 64)] ^= static_cast<char>(rng.next());
    bytes.resize(rng.below(8) == 0 ? rng.below(bytes.size()) : bytes.size());
    const auto reading = tracer::decode_record(bytes);
    if (reading) {
      CHECK(reading->metrics.size() <= tracer::kMetricsMax);
    } else {
      CHECK(reading.error().code == Errc::kCorrupt);
    }
  }
}

}  // namespace record_file_test
