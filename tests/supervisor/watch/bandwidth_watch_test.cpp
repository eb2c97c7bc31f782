// Bandwidth of process groups from what their ranks report, and its way into status and report.

#include <doctest/doctest.h>

#include "supervisor/limits.h"
#include "supervisor/watch/bandwidth_watch.h"

namespace bandwidth_watch_test {

using namespace robustrun;
using namespace robustrun::supervisor;
using base::Nanos;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr std::uint64_t kComm = 77;

wire::BandwidthReport report(Nanos busy, bool has_fallen = false, std::uint64_t comm = kComm) {
  wire::BandwidthReport made;
  made.moved.push_back({comm, 4, static_cast<std::uint8_t>(tracer::OpKind::kAllReduce), 24, 10,
                        160'000'000, busy, has_fallen});
  made.names.push_back({comm, "tp"});
  return made;
}

}  // namespace

TEST_CASE("of all members the one that waited least counts") {
  BandwidthWatch watch;
  for (std::uint32_t rank = 4; rank < 8; ++rank) {
    watch.take({rank}, report(milliseconds(rank == 6 ? 10 : 30)), seconds(1));
  }
  const std::vector<Bandwidth> recent = watch.recent(seconds(2));
  REQUIRE(recent.size() == 1);
  CHECK(recent[0].group == "tp");
  CHECK(recent[0].first_rank == 4);
  CHECK(recent[0].members == 4);
  CHECK(recent[0].algorithm() == doctest::Approx(16e9));
  CHECK(recent[0].bus() == doctest::Approx(24e9));
  CHECK(recent[0].size() == 16'000'000);
  CHECK(in_words(rows_of(recent)[0]) ==
        "tp (4 ranks from rank 4): all_reduce of 16 MB at 16 GB/s (bus 24 GB/s)");
  CHECK(watch.recent(seconds(1) + kBandwidthStale).empty());
  CHECK(watch.total().size() == 1);
}

TEST_CASE("a group has become slower when all members that report say so") {
  BandwidthWatch watch;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    CHECK_FALSE(watch.take({rank}, report(milliseconds(10)), seconds(1)));
  }
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    CHECK_FALSE(watch.take({rank}, report(milliseconds(20), true), seconds(2)));
  }
  CHECK(watch.take({3}, report(milliseconds(20), true), seconds(3)));
  CHECK_FALSE(watch.take({3}, report(milliseconds(10)), seconds(4)));
}

TEST_CASE("sums grow, communicators of one group add up, and nonsense is left out") {
  BandwidthWatch watch;
  for (int i = 0; i < 3; ++i) watch.take({0}, report(milliseconds(10)), seconds(i));
  watch.take({0}, report(milliseconds(10), false, kComm + 1), seconds(3));
  wire::BandwidthReport wrong = report(milliseconds(10));
  wrong.moved[0].kind = 200;
  wrong.moved.push_back(report({}).moved[0]);
  wrong.moved[1].size_bits = 65;
  watch.take({0}, wrong, seconds(3));
  const std::vector<Bandwidth> total = watch.total();
  REQUIRE(total.size() == 1);
  CHECK(total[0].count == 40);
  for (std::uint64_t comm = 0; comm < 2 * kBandwidthGroupsMax; ++comm) {
    wire::BandwidthReport many = report(milliseconds(10), false, 1000 + comm);
    many.names[0].name = std::to_string(comm);
    watch.take({0}, many, seconds(4));
  }
  CHECK(watch.recent(seconds(4)).size() == kBandwidthRowsMax);
  CHECK(watch.total().size() == kBandwidthRowsJournaled);
}

TEST_CASE("a report adds up attempts, and supervisors that begin to count again") {
  Bandwidth row{"tp", 0, 4, tracer::OpKind::kAllReduce, 24, 10, 160, milliseconds(10)};
  BandwidthFold fold;
  const auto take = [&](std::uint32_t attempt, std::uint64_t count) {
    row.count = count;
    fold.take(attempt, {row});
  };
  take(0, 10);
  take(0, 30);
  take(0, 5);  // another supervisor
  take(0, 7);
  take(1, 8);
  fold.take(1, {});
  REQUIRE(fold.sums().size() == 1);
  CHECK(fold.sums()[0].count == 30 + 7 + 8);
}

}  // namespace bandwidth_watch_test
