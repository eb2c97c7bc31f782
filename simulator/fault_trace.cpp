#include "simulator/fault_trace.h"

#include <algorithm>
#include <cmath>

#include "base/core/result.h"

namespace robustrun::simulator {
namespace {

constexpr double kDay = 24 * 3600.0;
constexpr double kLongestStay = 1e9;  // seconds; leaves room for adding other times
constexpr std::size_t kFaultsMax = 10'000'000;  // in one trace

class Draw {
 public:
  // Mixed once: consecutive seeds would otherwise give the same sequence, shifted.
  explicit Draw(std::uint64_t seed) : rng_(base::Rng(seed).next()) {}

  // In (0, 1], so that its logarithm is finite.
  double unit() { return (static_cast<double>(rng_.next() >> 11U) + 1) * 0x1p-53; }
  double exponential(double mean) { return -mean * std::log(unit()); }
  Nanos exponential(Nanos mean) {
    return from_seconds(std::min(kLongestStay, exponential(in_seconds(mean))));
  }
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(rng_.below(bound)); }

 private:
  base::Rng rng_;
};

FaultKind draw_kind(const FailureModel& model, Draw& draw) {
  double left = draw.unit();
  for (std::size_t i = 0; i < kKinds; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    left -= model.share(kind);
    if (left <= 0 && model.share(kind) > 0) return kind;
  }
  return FaultKind::kGpu;
}

bool is_explicit(FaultKind kind) { return kind == FaultKind::kGpu || kind == FaultKind::kMachine; }

TracedFault draw_fault(const FailureModel& model, Nanos at, std::uint32_t machine, Draw& draw) {
  TracedFault fault{at, machine, draw_kind(model, draw), false, {}, 1};
  const double luck = draw.unit();
  fault.stays =
      is_explicit(fault.kind) || (fault.kind == FaultKind::kHang && luck <= model.hang_stays.value);
  const Nanos mean = fault.kind == FaultKind::kMaintenance ? model.maintained.value
                     : fault.kind == FaultKind::kSlow      ? model.slow_for.value
                                                           : model.repair.value;
  fault.lasts = draw.exponential(mean);
  if (fault.kind == FaultKind::kSlow) fault.slows = model.slow_factor.value;
  return fault;
}

}  // namespace

std::vector<TracedFault> make_trace(const FailureModel& model, std::uint32_t machines,
                                    Nanos duration, std::uint64_t seed) {
  RR_ASSERT(machines > 0);
  std::vector<TracedFault> trace;
  const double per_second = model.per_node_day.value * machines / kDay;
  if (per_second <= 0) return trace;
  Draw draw(seed);
  const double end = in_seconds(duration);
  for (double at = draw.exponential(1 / per_second); at < end && trace.size() < kFaultsMax;
       at += draw.exponential(1 / per_second)) {
    const TracedFault fault = draw_fault(model, from_seconds(at), draw.below(machines), draw);
    trace.push_back(fault);
    if (!is_explicit(fault.kind) || draw.unit() > model.shared.value) continue;
    for (std::uint32_t i = 1; i <= model.neighbours.value && i < machines; ++i) {
      TracedFault other = fault;
      other.machine = (fault.machine + i) % machines;
      other.lasts = draw.exponential(model.repair.value);
      trace.push_back(other);
    }
  }
  return trace;
}

}  // namespace robustrun::simulator
