#include "agent/evidence/event_choice.h"

#include "agent/node/environment.h"
#include "agent/node/limits.h"
#include "tracer/record_collectives.h"

namespace robustrun::agent {

// The ranks at which rank * kRanksInFull / world_size rises.
bool is_sampled(base::Rank rank, std::uint32_t world_size) {
  if (world_size <= kRanksInFull) return true;
  const auto share = [&](std::uint64_t at) { return at * kRanksInFull / world_size; };
  return rank.value == 0 || share(rank.value) != share(rank.value - 1);
}

bool chooses_events(const wire::WorkerTemplate& workers) {
  return !Environment(workers.environment).get("ROBUSTRUN_NCCL_MASK");
}

EventChoice::EventChoice(tracer::RecordFile& record, bool is_sampled)
    : record_(record), is_sampled_(is_sampled), in_full_(is_sampled) {
  write();
}

void EventChoice::trace_in_full(bool in_full) {
  in_full = in_full || is_sampled_;
  if (in_full == in_full_) return;
  in_full_ = in_full;
  write();
}

void EventChoice::write() {
  // A record that cannot be written will not be read either.
  static_cast<void>(
      record_.set_event_mask(in_full_ ? tracer::kAllEvents : tracer::kEventsWithoutSteps));
}

}  // namespace robustrun::agent
