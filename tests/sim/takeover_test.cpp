// A supervisor that takes a run over continues where the previous one died, after any record.

#include <doctest/doctest.h>

#include "tests/sim/cluster/cluster.h"
#include "tests/sim/draw_scenario.h"
#include "tests/support/sanitized.h"

namespace robustrun::sim::takeover_test {
namespace {

// Workers may fail and users may give commands; machines and the network are fine.
Scenario calm_scenario(std::uint64_t seed) {
  Scenario scenario = draw_scenario(seed);
  scenario.crashes = scenario.commands = scenario.connection_breaks = 0;
  scenario.racks_die = scenario.hangs = scenario.flaps = scenario.breaks = 0;
  scenario.partitions = 0;
  scenario.is_local = scenario.long_away = false;
  scenario.signals.clear();
  scenario.updates.clear();
  scenario.spec.time_limit.reset();
  scenario.latest_end = hours(24 * 20);
  return scenario;
}

bool is_calm(const Scenario& s) {
  return s.lost + s.late + s.twice + s.dies + s.never_joins + s.cannot_start + s.deaf +
             s.machine_dies + s.cut_off + s.unkillable + s.slow_start + s.port_fails + s.node_ends +
             s.departs ==
         0;
}

TEST_CASE("a supervisor that dies after any one record of its journal does not end the run") {
  constexpr std::uint64_t kRuns = test::kSanitized ? 2 : 25;
  constexpr std::size_t kRecordsMax = 150;
  std::uint64_t runs = 0, takeovers = 0;
  for (std::uint64_t seed = 1; runs < kRuns; ++seed) {
    Scenario scenario = calm_scenario(seed);
    if (!is_calm(scenario)) continue;
    const Outcome whole = Cluster(scenario, Mutation::kNone, false).run();
    CAPTURE(seed);
    REQUIRE_MESSAGE(!whole.violation, whole.violation->rule);
    if (whole.records > kRecordsMax) continue;
    ++runs;
    for (std::size_t record = 1; record <= whole.records; ++record) {
      scenario.dies_after_record = record;
      const Outcome outcome = Cluster(scenario, Mutation::kNone, false).run();
      CAPTURE(record);
      CHECK_MESSAGE(!outcome.violation, outcome.violation->rule << ": " << outcome.violation->what);
      CHECK(outcome.exit_code.has_value());
      takeovers += outcome.supervisor_crashes;
    }
  }
  CHECK(takeovers > kRuns);
  MESSAGE(takeovers << " takeovers of " << runs << " runs");
}

TEST_CASE("a report whose times do not add up is detected") {
  Claims claims;
  core::RunReport report;
  report.duration = seconds(3);
  report.time.shares = {{core::Spent::kStarting, seconds(1)},
                        {core::Spent::kProductive, seconds(2)}};
  report.time.timeline = {{core::Spent::kStarting, {}, seconds(1)},
                          {core::Spent::kProductive, seconds(1), seconds(3)}};
  claims.time_adds_up(report);
  CHECK_FALSE(claims.violation());
  report.time.timeline.back().from = seconds(2);
  claims.time_adds_up(report);
  CHECK(claims.violation());
}

}  // namespace
}  // namespace robustrun::sim::takeover_test
