#include "tracer/collectives_reader.h"

#include <doctest/doctest.h>

#include "base/core/clock.h"
#include "tests/tracer/record_image.h"
#include "tracer/limits.h"

namespace collectives_reader_test {

using namespace robustrun;
using namespace robustrun::tracer;
using base::Errc;
using base::Nanos;
using test::communicator;
using test::operation;
using test::RecordImage;

namespace {

constexpr std::uint64_t kComm = 0xfeed'0000'0000'0001;
constexpr Nanos kNow{10'000};

RecordedCollectives read(RecordImage& image) {
  auto read = read_collectives(image.file(), kNow);
  REQUIRE(read);
  return *std::move(read);
}

Membership read_one(RecordImage& image) {
  const RecordedCollectives all = read(image);
  REQUIRE(all.comms.size() == 1);
  return all.comms[0];
}

RecordFlow flow(std::uint64_t op_slot, std::uint64_t op_generation) {
  RecordFlow row{};
  row.state = record_state(9, RecordPhase::kStarted);
  row.generation = 9;
  row.operation = op_slot | op_generation << 16U;
  row.channel = 1;
  row.peer = 4;
  row.is_send = 1;
  row.steps = 10;
  row.posted = 8;
  row.ready = 7;
  row.transmitted = 5;
  row.done = 4;
  row.refused = 1;
  row.bytes = 4096;
  row.net_wait_ns = 300;
  row.changed_at_ns = 9'000;
  return row;
}

}  // namespace

TEST_CASE("a communicator is read as the plugin left it") {
  RecordImage image;
  auto row = communicator(kComm, 7, 6, 5);
  std::strcpy(row.name.data(), "dp\x1b");
  row.entered_at_ns = 4'000;
  row.in_call_at_ns = 9'500;
  row.in_launch_at_ns = 9'600;
  image.put(2, row);
  image.counters.calls_at_ns = 9'900;
  image.counters.operations_dropped = 3;
  image.counters.flows_dropped = 4;
  const RecordedCollectives all = read(image);
  REQUIRE(all.comms.size() == 1);
  const Membership& member = all.comms[0];
  CHECK(member.comm == kComm);
  CHECK(member.name == "dp\\x1b");
  CHECK(member.size == 8);
  CHECK(member.rank == 3);
  CHECK(member.counts_completion);
  CHECK(member.entered == 7);
  CHECK(member.started == 6);
  CHECK(member.done == 5);
  CHECK(member.idle == Nanos(6'000));
  CHECK(member.in_call == Nanos(500));
  CHECK(member.in_launch == Nanos(400));
  CHECK(all.calls_still == Nanos(100));
  CHECK(!all.proxy_still);
  CHECK(all.dropped == 7);
  CHECK(all.event_mask == 0x56);
}

TEST_CASE("without KernelCh events it is unknown what is finished") {
  RecordImage image;
  image.counters.event_mask = 0x16;
  image.put(0, communicator(kComm, 1, 1, 0));
  image.put(1, operation(kComm, 1, RecordPhase::kStarted));
  CHECK(!read_one(image).counts_completion);
}

TEST_CASE("operations in flight come oldest first, with their progress") {
  RecordImage image;
  image.put(0, communicator(kComm, 4, 3, 1));
  auto running = operation(kComm, 2, RecordPhase::kStarted);
  running.entered_at_ns = 1'000;
  running.changed_at_ns = 8'000;
  running.channels_started = 3;
  running.channels_stopped = 1;
  auto queued = operation(kComm, 3, RecordPhase::kStarted);
  queued.entered_at_ns = 2'000;
  auto called = operation(kComm, 4, RecordPhase::kCalled);
  called.entered_at_ns = 3'000;
  image.put(900, running);
  image.put(1, queued);
  image.put(0, called);
  const Membership member = read_one(image);
  REQUIRE(member.pending.size() == 3);
  CHECK(member.pending[0].ordinal == 2);
  CHECK(member.pending[0].stage == Operation::Stage::kRunning);
  CHECK(member.pending[0].age == Nanos(9'000));
  CHECK(member.pending[0].unchanged == Nanos(2'000));
  CHECK(member.pending[0].channels == 2);
  CHECK(member.pending[0].channels_started == 2);
  CHECK(member.pending[0].channels_stopped == 1);
  CHECK(member.pending[0].signature == Signature{OpKind::kAllReduce, DataType::kFloat32, 1000, -1});
  CHECK(member.pending[1].stage == Operation::Stage::kQueued);
  CHECK(member.pending[2].stage == Operation::Stage::kCalled);
}

TEST_CASE("an operation called while a launch blocks is launching") {
  RecordImage image;
  auto row = communicator(kComm, 1, 0, 0);
  row.in_launch_at_ns = 9'000;
  image.put(0, row);
  image.put(0, operation(kComm, 1, RecordPhase::kCalled));
  CHECK(read_one(image).pending.at(0).stage == Operation::Stage::kLaunching);
}

TEST_CASE("an operation that a later one overtook in its batch keeps `done` below it") {
  RecordImage image;
  auto row = communicator(kComm, 5, 5, 4);
  row.batch = row.done_batch = 1;
  image.put(0, row);
  auto op = operation(kComm, 3, RecordPhase::kStarted);
  op.batch = 1;
  image.put(0, op);
  CHECK(read_one(image).done == 2);
}

TEST_CASE("an operation of a batch before a finished one is done, whatever its slot says") {
  RecordImage image;
  image.put(0, communicator(kComm, 5, 5, 5));
  image.put(0, operation(kComm, 4, RecordPhase::kStarted));
  const Membership member = read_one(image);
  CHECK(member.pending.empty());
  CHECK(member.done == 5);
}

TEST_CASE("unreported operations end with their call on communicators known to have such") {
  RecordImage image;
  auto row = communicator(kComm, 5, 4, 4);
  image.put(0, operation(kComm, 5, RecordPhase::kCalled));
  SUBCASE("not known") {
    image.put(0, row);
    CHECK(read_one(image).pending.size() == 1);
    CHECK(count_communicators(image.communicators())[0] == CommunicatorCount{kComm, 5, 4, true});
  }
  SUBCASE("known") {
    row.unreported = 2;
    image.put(0, row);
    CHECK(read_one(image).pending.empty());
    CHECK(read_one(image).done == 5);
    CHECK(count_communicators(image.communicators())[0] == CommunicatorCount{kComm, 4, 4, true});
  }
  SUBCASE("known, but the call lasts") {
    row.unreported = 2;
    row.in_call_at_ns = 1;
    image.put(0, row);
    CHECK(read_one(image).pending.size() == 1);
    CHECK(count_communicators(image.communicators())[0] == CommunicatorCount{kComm, 5, 4, true});
  }
}

TEST_CASE("when operations were dropped, what is not in flight is done") {
  RecordImage image;
  image.put(0, communicator(kComm, 9, 9, 7));
  CHECK(read_one(image).done == 7);
  image.counters.operations_dropped = 1;
  CHECK(read_one(image).done == 9);
}

TEST_CASE("flows are those of operations in flight") {
  RecordImage image;
  image.put(0, communicator(kComm, 1, 1, 0));
  image.put(6, operation(kComm, 1, RecordPhase::kStarted));
  image.put(0, flow(6, 5));
  image.put(1, flow(6, 4));     // of an earlier operation in that slot
  image.put(2, flow(7, 5));     // of no operation
  image.put(3, flow(5000, 5));  // beyond the table
  const Membership member = read_one(image);
  REQUIRE(member.flows.size() == 1);
  const Flow& found = member.flows[0];
  CHECK(found.ordinal == 1);
  CHECK(found.channel == 1);
  CHECK(found.peer == 4);
  CHECK(found.is_send);
  CHECK(found.steps == 10);
  CHECK(found.posted == 8);
  CHECK(found.ready == 7);
  CHECK(found.transmitted == 5);
  CHECK(found.done == 4);
  CHECK(found.peer_refuses);
  CHECK(found.bytes == 4096);
  CHECK(found.net_wait == Nanos(300));
  CHECK(found.unchanged == Nanos(1'000));
}

TEST_CASE("a flow whose words rose during the read is levelled, nonsense is left out") {
  RecordImage image;
  image.put(0, communicator(kComm, 1, 1, 0));
  image.put(0, operation(kComm, 1, RecordPhase::kStarted));
  auto row = flow(0, 5);
  bool there = true;
  SUBCASE("risen") { row.done = 9; }
  SUBCASE("more than there are") { row.done = 11, there = false; }
  SUBCASE("too many steps") { row.steps = kFlowStepsMax + 1, there = false; }
  SUBCASE("no such peer") { row.peer = -1, there = false; }
  SUBCASE("no such channel") { row.channel = kChannelsMax, there = false; }
  SUBCASE("being written") { row.state = record_state(9, RecordPhase::kWriting), there = false; }
  SUBCASE("half of another") { row.generation = 8, there = false; }
  image.put(0, row);
  const Membership member = read_one(image);
  REQUIRE(member.flows.size() == (there ? 1 : 0));
  if (there) CHECK(member.flows[0].posted == 9);
}

TEST_CASE("operations that contradict themselves or their communicator are left out") {
  RecordImage image;
  image.put(0, communicator(kComm, 2, 2, 0));
  auto row = operation(kComm, 1, RecordPhase::kStarted);
  SUBCASE("half of another") { row.generation = 4; }
  SUBCASE("being written") { row.state = record_state(5, RecordPhase::kWriting); }
  SUBCASE("parked") { row.state = record_state(5, RecordPhase::kParked); }
  SUBCASE("an unknown phase") { row.state = 5U << 8U | 77U; }
  SUBCASE("another key") { row.comm = 1; }
  SUBCASE("a slot beyond the table") { row.comm_slot = 128; }
  SUBCASE("an empty slot") { row.comm_slot = 1; }
  SUBCASE("an ordinal not yet entered") { row.ordinal = 3; }
  SUBCASE("no ordinal") { row.ordinal = 0; }
  SUBCASE("no kind") { row.kind = kOpKinds; }
  image.put(0, row);
  CHECK(read_one(image).pending.empty());
}

TEST_CASE("communicators beyond the limits are left out") {
  RecordImage image;
  auto row = communicator(kComm, 1, 1, 1);
  bool there = false;
  SUBCASE("largest") { row.size = kMembersMax, there = true; }
  SUBCASE("larger") { row.size = kMembersMax + 1; }
  SUBCASE("rank beyond the members") { row.rank = 8; }
  SUBCASE("last ordinal") { row.entered = kOrdinalMax, there = true; }
  SUBCASE("beyond it") { row.entered = kOrdinalMax + 1; }
  SUBCASE("size not known") { row.size = 0, there = true; }
  SUBCASE("key not known") { row.comm = 0; }
  SUBCASE("being written") { row.in_use = 2; }
  image.put(0, row);
  CHECK(read(image).comms.size() == (there ? 1 : 0));
  CHECK(count_communicators(image.communicators()).size() == (there ? 1 : 0));
}

TEST_CASE("one key is one communicator, the first") {
  RecordImage image;
  image.put(0, communicator(kComm, 1, 1, 1));
  image.put(5, communicator(kComm, 9, 9, 9));
  CHECK(read_one(image).entered == 1);
}

TEST_CASE("counters that rose while they were read are levelled") {
  RecordImage image;
  image.put(0, communicator(kComm, 1, 2, 3));
  const Membership member = read_one(image);
  CHECK(member.entered == 3);
  CHECK(member.started == 3);
}

TEST_CASE("times in the future, or impossible ones, give no ages") {
  RecordImage image;
  auto row = communicator(kComm, 1, 1, 1);
  row.entered_at_ns = 20'000;
  row.in_call_at_ns = ~std::uint64_t{0};
  image.put(0, row);
  CHECK(read_one(image).idle == Nanos{});
  CHECK(read_one(image).in_call == Nanos{});
}

TEST_CASE("groups recorded by Python are known, but without progress") {
  RecordImage image;
  auto row = communicator(kComm, 0, 0, 0);
  row.source = static_cast<std::uint32_t>(RecordSource::kTorchGroup);
  std::strcpy(row.name.data(), "1");
  std::memset(row.label.data(), 'x', row.label.size());  // without a NUL
  image.put(127, row);
  row.comm = 2;
  row.size = 0;
  image.put(126, row);
  const auto groups = known_groups(image.communicators());
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].name == "1");
  CHECK(groups[0].label == std::string(64, 'x'));
  CHECK(groups[0].comm == kComm);
  CHECK(groups[0].size == 8);
  CHECK(groups[0].rank == 3);
  CHECK(read(image).comms.empty());
  CHECK(!count_communicators(image.communicators()).at(0).counts_completion);
}

TEST_CASE("of an older or truncated record, what is there is read") {
  RecordImage image;
  image.put(0, communicator(kComm, 1, 1, 0));
  image.put(1, communicator(kComm + 1, 1, 1, 0));
  const std::string file = image.file();
  CHECK(read_collectives(file.substr(0, kRecordBytes), kNow)->comms.empty());
  CHECK(read_collectives(file.substr(0, kCommunicatorsAt + 300), kNow)->comms.size() == 1);
  std::string older = file;
  older[offsetof(ProgressRecord, minor)] = 0;
  CHECK(read_collectives(older, kNow)->comms.empty());
  const auto cut = read_collectives(file.substr(0, 100), kNow);
  REQUIRE(!cut);
  CHECK(cut.error().code == Errc::kCorrupt);
  CHECK(read_collectives(std::string(kCollectivesEnd, '\xfe'), kNow).error().code ==
        Errc::kCorrupt);
  CHECK(count_communicators("").empty());
  CHECK(count_communicators(image.communicators().substr(0, 511)).size() == 1);
}

TEST_CASE("any words in the tables give consistent memberships") {
  const std::uint64_t seed = base::system_seed();
  INFO("seed ", seed);
  base::Rng rng(seed);
  for (int round = 0; round < 60; ++round) {
    RecordImage image;
    for (std::size_t i = 0; i < 4; ++i) image.put(i, communicator(kComm + i, 9, 8, 7));
    for (std::size_t i = 0; i < 64; ++i) {
      image.put(i, operation(kComm + i % 4, 8 + i % 2, RecordPhase::kStarted));
      image.put(i, flow(i, 5));
    }
    image.counters.signatures = rng.next();
    std::string file = image.file();
    for (int i = 0; i < 400; ++i) {
      const std::size_t table = rng.below(2) == 0 ? 64 * sizeof(RecordOperation) : 1024;
      const std::size_t at = rng.below(2) == 0 ? kOperationsAt : kCommunicatorsAt;
      file[at + rng.below(table)] = static_cast<char>(rng.next());
      file[kFlowsAt + rng.below(64 * sizeof(RecordFlow))] = static_cast<char>(rng.next());
    }
    const auto all = read_collectives(file, kNow);
    REQUIRE(all);
    for (const Membership& member : all->comms) {
      CHECK(member.done <= member.started);
      CHECK(member.started <= member.entered);
      CHECK(member.entered <= kOrdinalMax);
      CHECK(member.pending.size() <= kOperationSlots);
      for (const Flow& found : member.flows) {
        CHECK(found.done <= found.transmitted);
        CHECK(found.transmitted <= found.ready);
        CHECK(found.ready <= found.posted);
        CHECK(found.posted <= found.steps);
      }
    }
  }
}

}  // namespace collectives_reader_test
