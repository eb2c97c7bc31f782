// Rule: the tests of a node's GPUs must pass. A reported fault counts by itself; checksums and
// figures are compared with those of all GPUs of the same model, on all nodes.
//
// A checksum that differs from that of more than half of them is silent data corruption. A figure
// is an outlier when it is below the median by more than kGpuDeviationsMax median absolute
// deviations, which a few bad GPUs cannot shift, and below kGpuShareMin of the median, because
// healthy GPUs may be almost equal.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "supervisor/core/preflight/verdict.h"
#include "supervisor/core/types/limits.h"
#include "tracer/analysis/statistics.h"

namespace robustrun::supervisor {
namespace {

// Model, what was done, and in which unit.
using Kind = std::tuple<std::string, std::string, std::string>;

template <class Value>
struct Reading {
  std::size_t place = 0;  // of the node
  std::uint32_t gpu = 0;
  Value value{};
};
template <class Value>
using Readings = std::map<Kind, std::vector<Reading<Value>>>;

bool was_tested(const NodeCheck& node) {
  return node.answered && node.facts.probe.asked && node.facts.probe.error.empty();
}

Readings<std::uint64_t> sums_of(const std::vector<NodeCheck>& nodes) {
  Readings<std::uint64_t> all;
  for (std::size_t place = 0; place < nodes.size(); ++place) {
    const base::GpuFacts& probe = nodes[place].facts.probe;
    if (!was_tested(nodes[place])) continue;
    for (const base::GpuSum& sum : probe.sums) {
      if (sum.gpu >= probe.models.size()) continue;
      all[{probe.models[sum.gpu], sum.what, ""}].push_back({place, sum.gpu, sum.sum});
    }
  }
  return all;
}

Readings<double> figures_of(const std::vector<NodeCheck>& nodes) {
  Readings<double> all;
  for (std::size_t place = 0; place < nodes.size(); ++place) {
    const base::GpuFacts& probe = nodes[place].facts.probe;
    if (!was_tested(nodes[place])) continue;
    for (const base::GpuFigure& figure : probe.figures) {
      const bool sane = std::isfinite(figure.value) && figure.value > 0;
      if (!sane || figure.gpu >= probe.models.size()) continue;
      all[{probe.models[figure.gpu], figure.what, figure.unit}].push_back(
          {place, figure.gpu, figure.value});
    }
  }
  return all;
}

void compare_sums(Judgement& judgement, const Kind& kind,
                  const std::vector<Reading<std::uint64_t>>& readings) {
  std::map<std::uint64_t, std::size_t> counts;
  for (const auto& reading : readings) ++counts[reading.value];
  if (counts.size() < 2) return;
  const auto usual = std::ranges::max_element(
      counts, {}, [](const auto& value_and_count) { return value_and_count.second; });
  const bool known = 2 * usual->second > readings.size();
  for (const auto& reading : readings) {
    if (known && reading.value == usual->first) continue;
    const std::string gpu = fmt::format("its GPU {} ({})", reading.gpu, said(std::get<0>(kind)));
    const std::string what = said(std::get<1>(kind));
    if (known) {
      judgement.add(reading.place, Fitness::kUnfit,
                    fmt::format("{} computes other bits than {} of {}: {} (silent data corruption)",
                                gpu, usual->second, readings.size(), what));
    } else {
      judgement.add(reading.place, Fitness::kWarned,
                    fmt::format("{} and others of its model compute different bits, and none is "
                                "in the majority: {}",
                                gpu, what));
    }
  }
}

void compare_figures(Judgement& judgement, const Kind& kind,
                     const std::vector<Reading<double>>& readings) {
  std::vector<double> values;
  for (const auto& reading : readings) values.push_back(reading.value);
  const double usual = tracer::median(values);
  const double deviation = tracer::deviation(std::move(values));
  for (const auto& reading : readings) {
    const bool far = usual - reading.value > kGpuDeviationsMax * deviation;
    if (!far || reading.value >= kGpuShareMin * usual) continue;
    NodeVerdict& verdict = judgement.verdicts[reading.place];
    verdict.slowness = std::max(verdict.slowness, usual / reading.value);
    const std::string unit = said(std::get<2>(kind));
    judgement.add(
        reading.place, Fitness::kSlow,
        fmt::format("its GPU {} ({}) is slow: {} {:.4g} {}, the median of {} is {:.4g} {}",
                    reading.gpu, said(std::get<0>(kind)), said(std::get<1>(kind)), reading.value,
                    unit, readings.size(), usual, unit));
  }
}

}  // namespace

void judge_probe(Judgement& judgement) {
  const auto& nodes = judgement.checked.nodes;
  for (std::size_t place = 0; place < nodes.size(); ++place) {
    const base::GpuFacts& probe = nodes[place].facts.probe;
    if (!nodes[place].answered || !probe.asked) continue;
    if (!probe.error.empty()) {
      judgement.add(place, Fitness::kUnfit, "its GPUs cannot be tested: " + said(probe.error));
    }
    for (const std::string& fault : probe.faults) {
      judgement.add(place, Fitness::kUnfit, "a test of its GPUs failed: " + said(fault));
    }
  }
  for (const auto& [kind, readings] : sums_of(nodes)) compare_sums(judgement, kind, readings);
  for (const auto& [kind, readings] : figures_of(nodes)) compare_figures(judgement, kind, readings);
}

}  // namespace robustrun::supervisor
