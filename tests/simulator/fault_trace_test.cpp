// A trace follows its model, and is the same for the same seed.

#include "simulator/fault_trace.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace robustrun::simulator::fault_trace_test {
namespace {

bool same(const TracedFault& a, const TracedFault& b) {
  return a.at == b.at && a.machine == b.machine && a.kind == b.kind && a.lasts == b.lasts &&
         a.stays == b.stays;
}

TEST_CASE("one seed, one trace") {
  const FailureModel model = *preset("llama3");
  const auto one = make_trace(model, 500, hours(24 * 30), 7);
  const auto two = make_trace(model, 500, hours(24 * 30), 7);
  const auto other = make_trace(model, 500, hours(24 * 30), 8);
  REQUIRE(one.size() > 10);
  CHECK(std::ranges::equal(one, two, same));
  CHECK_FALSE(std::ranges::equal(one, other, same));
  CHECK(std::ranges::is_sorted(one, {}, &TracedFault::at));
}

TEST_CASE("consecutive seeds have nothing in common") {
  const FailureModel model = *preset("llama3");
  std::set<Nanos> lasting;
  for (const TracedFault& fault : make_trace(model, 500, hours(24 * 30), 1)) {
    lasting.insert(fault.lasts);
  }
  for (const TracedFault& fault : make_trace(model, 500, hours(24 * 30), 2)) {
    CHECK_FALSE(lasting.contains(fault.lasts));
  }
}

TEST_CASE("every preset has its rate, its mix, and a source for each figure") {
  std::set<std::string> names;
  for (const FailureModel& model : presets()) {
    CAPTURE(model.name);
    names.insert(model.name);
    constexpr double kMachines = 10'000, kDays = 90;
    FailureModel alone = model;
    alone.shared.value = 0;
    const auto trace = make_trace(alone, static_cast<std::uint32_t>(kMachines),
                                  hours(24 * static_cast<int>(kDays)), 3);
    const double expected = model.per_node_day.value * kMachines * kDays;
    CHECK(std::abs(static_cast<double>(trace.size()) - expected) < 5 * std::sqrt(expected));
    for (std::size_t i = 0; i < kKinds; ++i) {
      const auto kind = static_cast<FaultKind>(i);
      const auto count = static_cast<double>(std::ranges::count(trace, kind, &TracedFault::kind));
      CHECK(std::abs(count - model.share(kind) * expected) <=
            5 * std::sqrt(model.share(kind) * expected) + 1e-9);
    }
    for (const std::string* source :
         {&model.per_node_day.source, &model.mix.source, &model.shared.source, &model.repair.source,
          &model.neighbours.source, &model.hang_stays.source, &model.slow_for.source}) {
      CHECK_FALSE(source->empty());
    }
  }
  CHECK(names == std::set<std::string>{"rsc-1", "rsc-2", "llama3", "byterobust-dense",
                                       "byterobust-moe", "ft-hsdp"});
  CHECK_FALSE(preset("llama4"));
}

TEST_CASE("some faults of machines take their neighbours with them") {
  FailureModel model = *preset("llama3");
  model.shared.value = 1;
  model.neighbours.value = 3;
  model.mix.value = {1, 0, 0, 0, 0, 0, 0};
  const auto trace = make_trace(model, 100, hours(24 * 30), 5);
  REQUIRE(trace.size() >= 8);
  REQUIRE(trace.size() % 4 == 0);
  for (std::size_t i = 0; i < trace.size(); ++i) {
    CHECK(trace[i].at == trace[i - i % 4].at);
    CHECK(trace[i].machine == (trace[i - i % 4].machine + i % 4) % 100);
  }
}

}  // namespace
}  // namespace robustrun::simulator::fault_trace_test
