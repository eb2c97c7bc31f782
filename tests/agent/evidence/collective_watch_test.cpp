#include "agent/evidence/collective_watch.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <deque>

#include "agent/evidence/worker_snapshot.h"
#include "agent/node/limits.h"
#include "base/io/fd.h"
#include "tests/support/loop.h"
#include "tests/support/scratch.h"
#include "tracer/record_collectives.h"
#include "wire/messages/field_codec.h"
#include "wire/messages/frame.h"

namespace robustrun::agent::collective_watch_test {
namespace {

using base::Errc;
using base::Nanos;
using tracer::Membership;
using tracer::RecordCommunicator;
using tracer::RecordSource;
using namespace std::chrono_literals;

class HandClock final : public base::Clock {
 public:
  Nanos time = 1000s;
  [[nodiscard]] Nanos now() const override { return time; }
  [[nodiscard]] Nanos wall_time() const override { return time; }
};

// Answered by the test, at any time.
struct Asked {
  std::vector<tracer::KnownGroup> known;
  FlightSource::Done done;  // null: no question is open
  bool nccl = false;
  unsigned questions = 0;
};

class FakeFlight final : public FlightSource {
 public:
  explicit FakeFlight(Asked& asked) : asked_(asked) {}
  void ask(Question question, Done done) override {
    REQUIRE_FALSE(asked_.done);
    ++asked_.questions;
    asked_.known = std::move(question.known);
    asked_.nccl = question.nccl;
    asked_.done = std::move(done);
  }
  [[nodiscard]] bool is_asking() const override { return static_cast<bool>(asked_.done); }

 private:
  Asked& asked_;
};

Membership comm_of(std::uint64_t comm, std::uint64_t entered, std::uint64_t done, Nanos age = 0s) {
  Membership made;
  made.comm = comm;
  made.entered = entered;
  made.done = done;
  for (std::uint64_t ordinal = done + 1; ordinal <= entered; ++ordinal) {
    made.pending.push_back({});
    made.pending.back().ordinal = ordinal;
    made.pending.back().age = age;
  }
  return made;
}

std::size_t encoded_bytes(const wire::Message& message) {
  return std::visit([](const auto& one) { return wire::encode(one).size(); }, message);
}

struct Fixture {
  test::Scratch scratch;
  test::Loop loop;
  HandClock clock;
  base::BlockingPool pool{loop.executor(), 1, 8};
  std::vector<wire::CollectiveProgress> progress;
  std::vector<wire::Overdue> overdue;
  std::size_t messages = 0, bytes = 0;  // all that were sent
  NodeContext node{loop.executor(),
                   clock,
                   pool,
                   [this](const wire::Message& message) {
                     ++messages;
                     bytes += wire::kFrameHeaderBytes + encoded_bytes(message);
                     if (std::holds_alternative<wire::BandwidthReport>(message)) return;
                     if (const auto* one = std::get_if<wire::CollectiveProgress>(&message)) {
                       progress.push_back(*one);
                     } else {
                       overdue.push_back(std::get<wire::Overdue>(message));
                     }
                   },
                   {},
                   {},
                   {}};
  std::string path = scratch.path("3.record");
  base::Result<tracer::RecordFile> record =
      tracer::RecordFile::create(path, base::Rank{3}, base::Attempt{2});
  Asked asked;
  std::optional<CollectiveWatch> watch{
      std::in_place, node, CollectiveWatch::Subject{base::Attempt{2}, base::LocalRank{1}}, *record,
      std::make_unique<FakeFlight>(asked)};
  std::uint64_t steps = 1;

  void put(std::size_t slot, RecordSource source, std::uint64_t comm, std::uint64_t entered,
           std::uint64_t done, bool in_use = true) const {
    RecordCommunicator one{};
    one.in_use = in_use ? 1 : 0;
    one.comm = comm;
    one.size = 4;
    one.rank = 3;
    one.source = static_cast<std::uint32_t>(source);
    one.entered = entered;
    one.started = entered;
    one.done = done;
    std::strcpy(one.name.data(), "group");
    const base::Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(::pwrite(fd.get(), &one, sizeof one,
                     static_cast<off_t>(tracer::kCommunicatorsAt + slot * sizeof one)) ==
            static_cast<ssize_t>(sizeof one));
  }
  // A communicator with one collective of each of `kinds` kinds after each step.
  void put_rates(std::size_t slot, std::uint64_t comm, std::uint64_t count,
                 std::size_t kinds) const {
    const base::Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      tracer::RecordRate one{};
      one.key = (slot + 1) << 32U | (kind + 1) << 8U | 24U;
      one.comm = comm;
      one.count = count;
      one.bytes = count << 24U;
      one.busy_ns = count * 1'000'000;
      const std::size_t at = tracer::kRatesAt + (slot * kinds + kind) * sizeof one;
      REQUIRE(::pwrite(fd.get(), &one, sizeof one, static_cast<off_t>(at)) ==
              static_cast<ssize_t>(sizeof one));
    }
  }
  void tick(bool steps_too = true) {
    clock.time += kProgressInterval;
    steps += steps_too ? 1 : 0;
    static_cast<void>(record->read_news());  // as the Worker does
    watch->look(steps);
  }
  void ticks(Nanos time, bool steps_too = true) {
    for (const Nanos end = clock.time + time; clock.time < end;) tick(steps_too);
  }
  void answer(base::Result<std::vector<Membership>> with) {
    REQUIRE(asked.done);
    std::exchange(asked.done, nullptr)(std::move(with));
  }
  // Runs until the recorder is asked again, and returns how long that took.
  Nanos time_to_question(bool steps_too) {
    const Nanos begin = clock.time;
    while (!asked.done && clock.time - begin < 60s) tick(steps_too);
    REQUIRE(asked.done);
    return clock.time - begin;
  }
  CollectiveWatch::Collected collect() {
    std::optional<CollectiveWatch::Collected> collected;
    watch->collect([&](CollectiveWatch::Collected all) { collected.emplace(std::move(all)); });
    REQUIRE_FALSE(collected);
    if (asked.done) answer(base::fail(Errc::kTimeout, "cannot: it is silent"));
    REQUIRE(loop.run_until([&] { return collected.has_value(); }));
    return *collected;
  }
};

}  // namespace

TEST_CASE("a communicator of the record is reported at most once a second, and when it moves") {
  Fixture f;
  f.put(0, RecordSource::kNccl, 77, 10, 9);
  f.put(127, RecordSource::kTorchGroup, 78, 0, 0);
  f.tick();
  REQUIRE(f.progress.size() == 1);
  CHECK(f.progress[0].attempt == base::Attempt{2});
  CHECK(f.progress[0].local_rank == base::LocalRank{1});
  REQUIRE(f.progress[0].communicators.size() == 1);  // groups alone do not progress
  CHECK(f.progress[0].communicators[0].comm == 77);
  CHECK(f.progress[0].communicators[0].entered == 10);
  CHECK(f.progress[0].communicators[0].done == 9);
  f.ticks(5s);
  CHECK(f.progress.size() == 1);
  for (std::uint64_t n = 11; n < 61; ++n) {
    f.put(0, RecordSource::kNccl, 77, n, n);
    f.tick();
  }
  CHECK(f.progress.size() == 6);
}

TEST_CASE("an operation of the record becomes overdue, and ends") {
  Fixture f;
  f.put(0, RecordSource::kNccl, 77, 10, 10);
  f.tick();
  f.put(0, RecordSource::kNccl, 77, 11, 10);
  f.ticks(1900ms);
  CHECK(f.overdue.empty());
  CHECK_FALSE(f.watch->has_overdue());
  f.ticks(10s);
  CHECK(f.watch->has_overdue());
  REQUIRE(f.overdue.size() == 1);
  CHECK(f.overdue[0].attempt == base::Attempt{2});
  CHECK(f.overdue[0].local_rank == base::LocalRank{1});
  CHECK(f.overdue[0].comm == 77);
  CHECK(f.overdue[0].ordinal == 11);
  CHECK(f.overdue[0].expected == 2s);
  CHECK(f.overdue[0].age > 2s);
  CHECK_FALSE(f.overdue[0].over);
  SUBCASE("because it is done") { f.put(0, RecordSource::kNccl, 77, 11, 11); }
  SUBCASE("because its communicator is gone") { f.put(0, RecordSource::kNccl, 77, 11, 10, false); }
  f.ticks(1s);
  REQUIRE(f.overdue.size() == 2);
  CHECK(f.overdue[1].over);
  CHECK_FALSE(f.watch->has_overdue());
  CHECK(f.overdue[1].comm == 77);
  CHECK(f.overdue[1].ordinal == 11);
}

TEST_CASE("another supervisor is told of collectives and of overdue operations") {
  Fixture f;
  f.watch->tell_again();
  f.ticks(2s);
  CHECK(f.messages == 0);  // there was nothing to tell before
  f.put(0, RecordSource::kNccl, 77, 11, 10);
  f.ticks(20s);
  REQUIRE(f.overdue.size() == 1);
  REQUIRE(f.progress.size() == 1);
  f.watch->tell_again();
  REQUIRE(f.overdue.size() == 2);
  CHECK(f.overdue[1].comm == 77);
  CHECK(f.overdue[1].ordinal == 11);
  CHECK(f.overdue[1].expected == f.overdue[0].expected);
  CHECK(f.overdue[1].age > f.overdue[0].age);
  CHECK_FALSE(f.overdue[1].over);
  f.tick();
  REQUIRE(f.progress.size() == 2);
  CHECK(f.progress[1].communicators[0].done == 10);
  f.put(0, RecordSource::kNccl, 77, 11, 11);
  f.ticks(1s);
  REQUIRE(f.overdue.size() == 3);
  CHECK(f.overdue[2].over);
  f.watch->tell_again();
  CHECK(f.overdue.size() == 3);
}

TEST_CASE("a table without progress is read once a second until NCCL has a communicator") {
  Fixture f;
  f.put(127, RecordSource::kTorchGroup, 78, 0, 0);
  f.ticks(5s);
  f.put(0, RecordSource::kNccl, 77, 1, 1);
  f.tick();
  REQUIRE(f.progress.size() == 1);
  CHECK(f.progress[0].communicators[0].comm == 77);
}

TEST_CASE("progress that the interposer counts is found within a second") {
  Fixture f;
  f.ticks(5s);
  f.put(127, RecordSource::kInterposer, 78, 3, 2);
  f.ticks(kEmptyTableInterval);
  REQUIRE(f.progress.size() == 1);
  CHECK(f.progress[0].communicators[0].entered == 3);
}

TEST_CASE("the recorder is asked every ten seconds while steps advance, every second otherwise") {
  Fixture f;
  f.put(127, RecordSource::kTorchGroup, 78, 0, 0);
  f.tick();
  REQUIRE(f.asked.questions == 1);
  REQUIRE(f.asked.known.size() == 1);
  CHECK(f.asked.known[0].comm == 78);
  f.ticks(20s);
  CHECK(f.asked.questions == 1);  // one question at a time
  SUBCASE("whatever it answers") { f.answer(std::vector{comm_of(78, 5, 5)}); }
  SUBCASE("if it does not answer") { f.answer(base::fail(Errc::kTimeout, "cannot")); }
  f.time_to_question(true);
  f.answer(std::vector<Membership>{});
  CHECK(f.time_to_question(true) == 1s);  // until it has reported a group
  f.answer(std::vector{comm_of(78, 6, 6)});
  CHECK(f.time_to_question(true) == 10s);
  f.answer(std::vector{comm_of(78, 7, 7)});
  CHECK(f.time_to_question(false) <= 1100ms);
  f.answer(std::vector{comm_of(78, 7, 7)});
  CHECK(f.time_to_question(false) == 1s);
}

TEST_CASE("torch's recorders of NCCL are asked for only where the plugin sees no communicator") {
  Fixture f;
  f.tick();
  CHECK(f.asked.nccl);
  f.put(0, RecordSource::kNccl, 77, 1, 1);
  f.answer(std::vector<Membership>{});
  f.time_to_question(true);
  CHECK_FALSE(f.asked.nccl);
}

TEST_CASE("a worker with long steps counts as stepping for twice as long") {
  Fixture f;
  const auto questions_in = [&](int tenths, bool step_every_four_seconds) {
    const unsigned before = f.asked.questions;
    for (int i = 1; i <= tenths; ++i) {
      f.tick(step_every_four_seconds && i % 40 == 0);
      if (f.asked.done) f.answer(std::vector{comm_of(78, 5, 5)});
    }
    return f.asked.questions - before;
  };
  questions_in(120, true);
  CHECK(questions_in(400, true) == 4);
  CHECK(questions_in(80, false) <= 2);
  CHECK(questions_in(100, false) >= 9);
}

TEST_CASE("without steps the recorder is asked every second, unless collectives advance") {
  Fixture f;
  f.steps = 0;
  f.tick(false);
  f.answer(std::vector{comm_of(78, 5, 5)});
  CHECK(f.time_to_question(false) == 5s);
  f.answer(std::vector{comm_of(78, 5, 5)});
  CHECK(f.time_to_question(false) == 1s);
  f.answer(std::vector{comm_of(78, 9, 9)});
  CHECK(f.time_to_question(false) == 5s);
}

TEST_CASE("operations of the recorder become overdue by their own history") {
  Fixture f;
  f.tick();
  f.answer(std::vector{comm_of(78, 10, 10), comm_of(79, 4, 4)});
  f.time_to_question(false);
  f.answer(std::vector{comm_of(78, 12, 10, 900ms), comm_of(79, 4, 4)});
  CHECK(f.overdue.empty());
  f.time_to_question(false);
  f.answer(std::vector{comm_of(78, 12, 10, 1900ms), comm_of(79, 4, 4)});
  CHECK(f.overdue.empty());
  f.time_to_question(false);
  f.answer(std::vector{comm_of(78, 12, 10, 2900ms), comm_of(79, 4, 4)});
  REQUIRE(f.overdue.size() == 1);
  CHECK(f.overdue[0].comm == 78);
  CHECK(f.overdue[0].ordinal == 11);
  CHECK(f.overdue[0].age == 2900ms);
  SUBCASE("a time-out changes nothing") {
    f.time_to_question(false);
    f.answer(base::fail(Errc::kTimeout, "cannot"));
    CHECK(f.overdue.size() == 1);
  }
  SUBCASE("a group that is gone is over") {
    f.time_to_question(false);
    f.answer(std::vector{comm_of(79, 4, 4)});
    REQUIRE(f.overdue.size() == 2);
    CHECK(f.overdue[1].over);
  }
}

TEST_CASE("a source that cannot tell what has ended makes nothing overdue") {
  Fixture f;
  auto blind = comm_of(78, 10, 0, 1h);
  blind.counts_completion = false;
  for (int i = 0; i < 20; ++i) {
    f.time_to_question(false);
    f.answer(std::vector{blind});
  }
  CHECK(f.overdue.empty());
}

TEST_CASE("no more communicators are watched than the limit") {
  Fixture f;
  f.tick();
  std::vector<Membership> many;
  for (std::uint64_t i = 0; i < kWatchedCommunicatorsMax + 10; ++i)
    many.push_back(comm_of(i, 1, 1));
  f.answer(many);
  f.ticks(1s);
  REQUIRE(f.progress.size() == 1);
  CHECK(f.progress[0].communicators.size() == kWatchedCommunicatorsMax);
}

TEST_CASE("a record that the worker broke is ignored") {
  Fixture f;
  REQUIRE(::truncate(f.path.c_str(), 100) == 0);
  f.ticks(10s);
  CHECK(f.progress.empty());
  CHECK(f.overdue.empty());
  CHECK(f.collect().comms.empty());
}

TEST_CASE("both sources are collected, the recorder's previous answer when it is silent") {
  Fixture f;
  f.put(0, RecordSource::kNccl, 77, 10, 9);
  f.tick();
  f.answer(std::vector{comm_of(78, 12, 11, 900ms)});
  f.clock.time += 3s;
  const auto collected = f.collect();
  CHECK(f.asked.questions == 2);
  REQUIRE(collected.comms.size() == 2);
  CHECK(collected.comms[0].comm == 77);
  CHECK(collected.comms[1].comm == 78);
  CHECK(collected.comms[1].pending[0].age == 3900ms);
}

TEST_CASE("the recorder's previous answer from before a step is not used") {
  Fixture f;
  f.tick();
  f.answer(std::vector{comm_of(78, 12, 11, 900ms)});
  f.tick();
  CHECK(f.collect().comms.empty());
}

TEST_CASE("a question under way also answers a collect()") {
  Fixture f;
  f.tick();
  std::optional<CollectiveWatch::Collected> collected;
  f.watch->collect([&](CollectiveWatch::Collected all) { collected.emplace(std::move(all)); });
  f.answer(std::vector{comm_of(78, 12, 11, 900ms)});
  REQUIRE(collected);
  CHECK(f.asked.questions == 1);
  CHECK(collected->comms.size() == 1);
}

TEST_CASE("an answer that is never read is not waited for; the previous one is used") {
  Fixture f;
  f.tick();
  f.answer(std::vector{comm_of(78, 12, 11, 900ms)});
  std::optional<CollectiveWatch::Collected> collected;
  for (int i = 0; i < 2; ++i) {  // the second one finds a question under way
    collected.reset();
    f.watch->collect([&](CollectiveWatch::Collected all) { collected.emplace(std::move(all)); });
    f.loop.run_for(1ms);
    CHECK_FALSE(collected);
    f.clock.time += kFlightCollectMax;
    REQUIRE(f.loop.run_until([&] { return collected.has_value(); }));
    CHECK(collected->comms.size() == 1);
  }
  CHECK(f.asked.questions == 2);
}

TEST_CASE("a watch that is dropped does not call back") {
  Fixture f;
  f.watch.emplace(f.node, CollectiveWatch::Subject{}, *f.record, nullptr);
  bool called = false;
  f.watch->collect([&](const CollectiveWatch::Collected&) { called = true; });
  f.watch.reset();
  f.loop.run_out();
  CHECK_FALSE(called);
}

TEST_CASE("a snapshot waits for its parts and describes the worker as it is then") {
  Fixture f;
  tracer::RankSnapshot now;
  now.life = tracer::Life::kRunning;
  std::optional<std::string> bytes;
  WorkerSnapshot::Plan plan;
  plan.describe = [&] { return now; };
  plan.watch = &*f.watch;
  const auto taking = WorkerSnapshot::take(f.node, std::move(plan),
                                           [&](std::string snapshot) { bytes = snapshot; });
  f.loop.run_for(20ms);
  CHECK_FALSE(bytes);
  now.life = tracer::Life::kDead;
  now.end = "SIGKILL";
  f.answer(std::vector{comm_of(78, 12, 11, 900ms)});
  REQUIRE(f.loop.run_until([&] { return bytes.has_value(); }));
  const auto snapshot = wire::decode<tracer::RankSnapshot>(*bytes);
  REQUIRE(snapshot);
  CHECK(snapshot->life == tracer::Life::kDead);
  CHECK(snapshot->end == "SIGKILL");
  REQUIRE(snapshot->comms.size() == 1);
  CHECK(snapshot->comms[0].entered == 12);
}

TEST_CASE("a dropped snapshot does not call back") {
  Fixture f;
  bool called = false;
  WorkerSnapshot::Plan plan;
  plan.describe = [] { return tracer::RankSnapshot(); };
  auto taking =
      WorkerSnapshot::take(f.node, std::move(plan), [&](const std::string&) { called = true; });
  taking.reset();
  f.loop.run_out();
  CHECK_FALSE(called);
}

TEST_CASE("a snapshot that is too long loses the least telling first") {
  tracer::RankSnapshot snapshot;
  snapshot.pid = 7;
  snapshot.evidence.missing = {"something"};
  snapshot.comms = {comm_of(78, 12, 11)};
  const auto decoded = [&] {
    const std::string bytes = encode_bounded(snapshot);
    CHECK(bytes.size() <= kObservedBytesMax);
    return *wire::decode<tracer::RankSnapshot>(bytes);
  };
  CHECK(decoded().comms[0].pending.size() == 1);
  snapshot.comms[0].recent.resize(kObservedBytesMax / 10);
  CHECK(decoded().comms[0].recent.empty());
  CHECK(decoded().evidence.missing[0] == "something");
  snapshot.evidence.missing[0].resize(kObservedBytesMax);
  CHECK(decoded().evidence.missing[0] == "all of it: too much to send");
  CHECK(decoded().comms[0].pending.size() == 1);
  snapshot.comms[0].pending.resize(kObservedBytesMax / 10);
  CHECK(decoded().comms.empty());
  CHECK(decoded().pid == 7);
}

TEST_CASE("what an agent sends about 64 communicators of each of 8 ranks is bounded") {
  constexpr std::size_t kComms = 64, kKinds = 4, kRanks = 8;
  constexpr std::uint64_t kSeconds = 120;
  Fixture f;
  const auto move = [&](std::uint64_t step) {
    for (std::size_t slot = 0; slot < kComms; ++slot) {
      const std::uint64_t comm = 0x9e3779b97f4a7c15U * (slot + 1);
      f.put(slot, RecordSource::kNccl, comm, step * kKinds, step * kKinds);
      f.put_rates(slot, comm, step, kKinds);
    }
  };
  std::uint64_t step = 1'000'000;  // of a job that has run for hours
  const auto run = [&](std::uint64_t ticks) {
    for (; ticks > 0; --ticks) {
      if (ticks % 10 == 0) move(++step);
      f.tick();
      if (f.asked.done) f.answer(std::vector<Membership>{});
    }
  };
  run(100);
  const std::size_t bytes = f.bytes, messages = f.messages;
  run(10 * kSeconds);
  const double kb_per_s = static_cast<double>((f.bytes - bytes) * kRanks) / kSeconds / 1000;
  MESSAGE("an agent sends about 64 communicators of 8 ranks: ", kb_per_s, " KB/s");
  CHECK(kb_per_s < 20);
  CHECK(f.messages - messages <= kSeconds + kSeconds / 5 + 2);
}

}  // namespace robustrun::agent::collective_watch_test
