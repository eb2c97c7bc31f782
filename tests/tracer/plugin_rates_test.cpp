// What NCCL's profiler plugin records of bandwidth, of phases of kernels, and of tags.

#include <doctest/doctest.h>

#include <map>

#include "tests/helpers/nccl_rates.h"
#include "tests/tracer/plugin_run.h"

namespace plugin_rates_test {

using namespace robustrun;
using namespace robustrun::tracer;
using base::Nanos;
using test::kPlayedComm;
using test::play_each;
using test::PluginRun;

namespace {

Traffic traffic_of(const PluginRun& run) {
  return read_traffic(*run.file->read_communicators(), *run.file->read_traffic());
}

// By nccl-tests' own formulas: bytes of `count` elements as its GetBw() takes them, and the factor.
struct Expected {
  double size = 0;
  double factor = 0;
};
std::map<OpKind, Expected> expected() {
  constexpr double kPassed = test::kRateCount * 2.0;
  constexpr double n = test::kRateMembers;
  return {{OpKind::kBroadcast, {kPassed, 1}},
          {OpKind::kReduce, {kPassed, 1}},
          {OpKind::kAllReduce, {kPassed, 2 * (n - 1) / n}},
          {OpKind::kAllGather, {kPassed * n, (n - 1) / n}},
          {OpKind::kReduceScatter, {kPassed * n, (n - 1) / n}},
          {OpKind::kAllToAll, {kPassed * n, (n - 1) / n}},
          {OpKind::kScatter, {kPassed * n, (n - 1) / n}},
          {OpKind::kGather, {kPassed * n, (n - 1) / n}}};
}

}  // namespace

TEST_CASE("bandwidths are those of nccl-tests, within 2 % of what was moved") {
  play_each({4, 5, 6, 7}, "rates", [](const PluginRun& run, int) {
    const std::vector<Moved> moved = traffic_of(run).moved;
    const auto wanted = expected();
    REQUIRE(moved.size() == wanted.size());
    for (const Moved& row : moved) {
      CAPTURE(to_string(row.kind));
      REQUIRE(wanted.contains(row.kind));
      const Expected& want = wanted.at(row.kind);
      CHECK(row.comm == kPlayedComm);
      CHECK(row.size == test::kRateMembers);
      CHECK(row.count == test::kRateOperations);
      const double seconds = std::chrono::duration<double>(row.busy).count();
      const double algorithm = static_cast<double>(row.bytes) / seconds;
      CHECK(algorithm == doctest::Approx(want.size / (test::kRateNs * 1e-9)).epsilon(0.02));
      CHECK(bus_factor(row.kind, row.size) == doctest::Approx(want.factor));
    }
  });
}

TEST_CASE("without the number of members only the kinds that do not need it are measured") {
  play_each({3}, "rates", [](const PluginRun& run, int) {
    const std::vector<Moved> moved = traffic_of(run).moved;
    CHECK(moved.size() == 3);
    for (const Moved& row : moved) {
      CHECK(bus_factor(row.kind, row.size) == (row.kind == OpKind::kAllReduce ? 0 : 1));
    }
  });
}

TEST_CASE("rates of a closed communicator are forgotten") {
  PluginRun run;
  run.play("reinit", 6);
  for (const Moved& row : traffic_of(run).moved) CHECK(row.count <= 1);
  CHECK(run.counters().history_dropped == 0);
}

TEST_CASE("phases of a symmetric kernel: waiting does not count, its own work is known") {
  play_each({6, 7}, "phases", [](const PluginRun& run, int version) {
    const std::vector<Moved> moved = traffic_of(run).moved;
    REQUIRE(moved.size() == 1);
    const std::int64_t counted = version >= 7 ? 150'000 : 250'000;
    CHECK(moved[0].busy == Nanos(test::kRateOperations * counted));
    const Membership member = run.only();
    REQUIRE(member.timings.size() == test::kRateOperations);
    for (const Timing& timing : member.timings) {
      CHECK(timing.kernel == Nanos(250'000));
      CHECK(timing.own == Nanos(version >= 7 ? 120'000 : 0));
    }
    CHECK(run.counters().ignored == 0);
  });
}

TEST_CASE("each call has its tag") {
  play_each({6, 7}, "tags", [](const PluginRun& run, int version) {
    const Membership member = run.only();
    REQUIRE(member.recent.size() == 5);
    for (const Past& past : member.recent) {
      CHECK(past.tag == (version >= 7 ? 100 + past.ordinal : 0));
    }
  });
}

TEST_CASE("traffic of a record that is cut off or contradicts itself is left out") {
  PluginRun run;
  run.play("rates", 6);
  const std::string communicators = *run.file->read_communicators();
  const std::string tables = *run.file->read_traffic();
  CHECK(read_traffic(communicators, tables.substr(0, kRatesAt - kEdgesAt + 100)).moved.size() <= 1);
  CHECK(read_traffic("", tables).moved.empty());
  CHECK(read_traffic(communicators, "").moved.empty());
  CHECK(read_traffic(communicators, std::string(tables.size(), '\xfe')).moved.empty());
  CHECK(names_of(communicators).at(kPlayedComm) == "comm 2748");
}

}  // namespace plugin_rates_test
