#include "bootstrap/blocks/flights.h"

#include <utility>

namespace robustrun::bootstrap {

Flight* Flights::find(std::uint64_t block) {
  const auto found = flights_.find(block);
  return found == flights_.end() ? nullptr : &found->second;
}

void Flights::count(const Flight& flight, bool is_added) {
  if (is_prefetch(flight)) prefetching_ += is_added ? 1U : -1U;
  if (is_awaited(flight)) demand_waiting_ += is_added ? 1U : -1U;
}

Flight& Flights::start(std::uint64_t block, Urgency urgency, base::Nanos now) {
  RR_ASSERT(!flights_.contains(block));
  Flight& flight = flights_[block];
  flight.urgency = urgency;
  flight.since = now;
  count(flight, true);
  return flight;
}

void Flights::move_to(Flight& flight, FlightStage stage) {
  const bool was_awaited = is_awaited(flight);
  count(flight, false);
  flight.stage = stage;
  count(flight, true);
  // A retry, or a peer's block on its way to the store, is not another fetch.
  if (!was_awaited && is_awaited(flight) && flight.tries == 0) ++demand_fetches_;
}

void Flights::raise(Flight& flight, Urgency urgency, base::Nanos now) {
  RR_ASSERT(urgency < flight.urgency);
  count(flight, false);
  flight.urgency = urgency;
  flight.since = now;
  count(flight, true);
  if (is_awaited(flight)) ++demand_fetches_;
}

std::vector<BlockReady> Flights::end(std::uint64_t block) {
  const auto found = flights_.find(block);
  RR_ASSERT(found != flights_.end());
  count(found->second, false);
  auto waiters = std::move(found->second.waiters);
  flights_.erase(found);
  return waiters;
}

std::vector<std::uint64_t> Flights::due(base::Nanos now) const {
  std::vector<std::uint64_t> blocks;
  for (const auto& [block, flight] : flights_) {
    const bool has_time =
        flight.stage == FlightStage::kPeers || flight.stage == FlightStage::kPause;
    if (has_time && flight.due <= now) blocks.push_back(block);
  }
  return blocks;
}

std::vector<std::uint64_t> Flights::in_stage(FlightStage stage) const {
  std::vector<std::uint64_t> blocks;
  for (const auto& [block, flight] : flights_) {
    if (flight.stage == stage) blocks.push_back(block);
  }
  return blocks;
}

}  // namespace robustrun::bootstrap
