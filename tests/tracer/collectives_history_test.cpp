// What a record contains about finished collectives.

#include <doctest/doctest.h>

#include "tests/tracer/record_image.h"
#include "tracer/collectives_reader.h"

namespace collectives_history_test {

using namespace robustrun;
using namespace robustrun::tracer;
using base::Nanos;
using test::communicator;
using test::RecordImage;

namespace {

constexpr std::uint64_t kComm = 0xfeed'0000'0000'0001;

RecordedCollectives read(RecordImage& image) {
  auto read = read_collectives(image.file(), Nanos(10'000));
  REQUIRE(read);
  return *std::move(read);
}

}  // namespace

TEST_CASE("signatures come oldest first, only of known communicators") {
  RecordImage image;
  image.put(0, communicator(kComm, 2000, 2000, 2000));
  const auto sign = [&](std::uint64_t entry, std::uint64_t ordinal, std::uint32_t part) {
    const RecordSignature row{entry + 1, ordinal << 24U | 7U << 16U | 1U << 8U, ordinal * 10, -1,
                              part};
    image.put(kSignaturesAt, entry % kSignatureSlots, row);
  };
  for (std::uint64_t entry = 500; entry < 1524; ++entry) sign(entry, entry + 1, 1);
  image.counters.signatures = 1524;
  sign(600, 601, 2);    // another communicator's
  sign(601, 2001, 1);   // not entered
  image.put(kSignaturesAt, 602, RecordSignature{});  // being written
  const auto recent = read(image).comms.at(0).recent;
  REQUIRE(recent.size() == 1021);
  CHECK(recent.front().ordinal == 501);
  CHECK(recent.back().ordinal == 1524);
  CHECK(recent.back().signature == Signature{OpKind::kAllReduce, DataType::kFloat32, 15'240, -1});
}

TEST_CASE("timings, edges, counts per peer and histograms find their communicator") {
  RecordImage image;
  image.put(1, communicator(kComm, 9, 9, 9));
  image.put(kTimingsAt, 4, RecordTiming{5, kComm, 9, 100, 20, 3, 9'000, 0});
  image.put(kTimingsAt, 5, RecordTiming{6, kComm + 1, 9, 100, 20, 3, 9'000, 0});
  image.put(kTimingsAt, 6, RecordTiming{8, kComm, 9, 100, 20, 3, 9'000, 0});  // of another slot
  image.counters.timings = 6;
  const std::uint64_t slot = std::uint64_t{2} << 32U;
  image.put(kEdgesAt, 0, RecordEdge{slot | 6U, kComm, 5, 4, 0, 0, 4096, 800});
  image.put(kEdgesAt, 1, RecordEdge{slot | 7U, kComm, 0, 0, 2, 3, 0, 0});
  image.put(kEdgesAt, 2, RecordEdge{slot | 7U, kComm + 1, 1, 1, 1, 1, 1, 1});
  image.put(kEdgesAt, 3, RecordEdge{slot | 0xffff'ffffU, kComm, 1, 1, 1, 1, 1, 1});
  RecordHistogram histogram{};
  histogram.key = slot | 1U << 8U | 20U;
  histogram.comm = kComm;
  histogram.count = 3;
  histogram.max_ns = 5'000'000;
  histogram.buckets[12] = 3;
  image.put(kHistogramsAt, 9, histogram);
  histogram.key = 99;
  image.put(kHistogramsAt, 10, histogram);
  const RecordedCollectives all = read(image);
  const Membership& member = all.comms.at(0);
  REQUIRE(member.timings.size() == 1);
  CHECK(member.timings[0].ordinal == 9);
  CHECK(member.timings[0].kernel == Nanos(100));
  CHECK(member.timings[0].queued == Nanos(20));
  CHECK(member.timings[0].gap == Nanos(3));
  REQUIRE(member.peers.size() == 2);
  CHECK(member.peers[0].peer == 6);
  CHECK(member.peers[0].is_send);
  CHECK(member.peers[0].entered == 5);
  CHECK(member.peers[0].done == 4);
  CHECK(member.peers[1].peer == 7);
  CHECK(!member.peers[1].is_send);
  CHECK(member.peers[1].entered == 3);  // levelled
  REQUIRE(member.edges.size() == 1);
  CHECK(member.edges[0].peer == 6);
  CHECK(member.edges[0].bytes == 4096);
  CHECK(member.edges[0].net_wait == Nanos(800));
  REQUIRE(all.durations.size() == 1);
  CHECK(all.durations[0].kind == OpKind::kAllReduce);
  CHECK(all.durations[0].size_bits == 20);
  CHECK(all.durations[0].count == 3);
  CHECK(all.durations[0].longest == std::chrono::milliseconds(5));
  CHECK(all.durations[0].buckets.at(12) == 3);
}

}  // namespace collectives_history_test
