// Any bytes as a report of NCCL's RAS, JSON or text: a report within its limits or an error, and
// snapshots in order.
// Seeds: tests/fixtures/ras

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/core/text.h"
#include "tracer/limits.h"
#include "tracer/ras.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace robustrun;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto report = tracer::read_ras_report(bytes);
  if (!report) {
    if (report.error().what.empty()) std::abort();
    return 0;
  }
  if (report->communicators.size() > tracer::kRasCommunicatorsMax) std::abort();
  const auto [fleet, notes] = tracer::fleet_of(*report);
  if (!std::ranges::is_sorted(fleet.ranks, {}, &tracer::RankSnapshot::rank)) std::abort();
  for (const auto& rank : fleet.ranks) {
    if (base::printable(rank.node) != rank.node) std::abort();
    for (const auto& membership : rank.comms) {
      if (membership.done > membership.entered) std::abort();
    }
  }
  return 0;
}
