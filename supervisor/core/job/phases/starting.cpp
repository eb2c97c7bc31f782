#include "supervisor/core/job/phases/starting.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/core/words.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

constexpr std::uint32_t kPortLast = 65535;

}  // namespace

void Starting::begin() {
  if (copies_.is_cut_off()) {
    copies_.save_held();
    if (copies_.is_saving()) return wait_.begin({});
  }
  copies_.ask();
  if (spec_.master_port != 0) {
    starts_.set_port(spec_.master_port);
    return start_workers();
  }
  orders_.enter(JobState::kReserving);
  reserve_port();
  orders_.set_timer(TimerId::kState, orders_.now() + spec_.deadlines.port);
}

void Starting::reserve_port() { orders_.give(ReservePort{group_.front(), orders_.attempt()}); }

void Starting::port_reserved(const Event& event) {
  const auto& reserved = body<PortReserved>(event);
  if (event.node != group_.front()) return;
  if (reserved.port == 0 || reserved.port > kPortLast) {
    return moves_.setback(Rule::kStartFailed, fmt::format("no free port on {}: {}",
                                                          nodes_.name(event.node), reserved.error));
  }
  starts_.set_port(reserved.port);
  start_workers();
}

void Starting::port_overdue(const Event&) {
  moves_.setback(Rule::kStartFailed,
                 fmt::format("the agent of {} did not name a free port within {}",
                             nodes_.name(group_.front()), base::in_seconds(spec_.deadlines.port)));
}

void Starting::start_workers() {
  starts_.begin_attempt();
  workers_.begin_attempt();
  progress_.begin_attempt(orders_.now());
  early_ends_.begin_attempt();
  slow_.begin_attempt();
  checkpoints_.begin_attempt();
  if (orders_.attempt() == base::Attempt{}) {
    orders_.decide(Rule::kStart, "starting " + group_.workers_in_words());
  }
  if (updates_.use_next()) diagnoses_.forget_all();
  copies_.begin_attempt();
  starts_.send_all();
  orders_.enter(JobState::kStarting);
  orders_.set_timer(TimerId::kState, orders_.now() + spec_.deadlines.workers_started);
}

void Starting::worker_started(const Event& event) {
  const auto& started = body<WorkerStarted>(event);
  if (!workers_.note_seen(started.rank)) return;
  note_cold(started);
  check_all_started();
}

// Each reason is reported once in a run: it mostly holds for all workers, and for later restarts.
void Starting::note_cold(const WorkerStarted& started) {
  if (started.cold.empty() || cold_reasons_.size() == kColdReasonsMax) return;
  if (std::ranges::find(cold_reasons_, started.cold) != cold_reasons_.end()) return;
  cold_reasons_.push_back(started.cold);
  orders_.decide(Rule::kColdStart, fmt::format("rank {} starts without a standby worker: {}",
                                               started.rank.value, started.cold));
}

void Starting::check_all_started() {
  if (orders_.state() != JobState::kStarting) return;
  if (workers_.seen() < group_.plan().world_size()) return;
  restarts_.note_started();
  running_.begin();
}

void Starting::start_failed(const Event& event) {
  const auto& failed = body<WorkerStartFailed>(event);
  if (!workers_.note_ended(failed.rank)) return;
  moves_.break_down(start_fault(failed, moves_.context(event.node)));
}

void Starting::overdue(const Event&) {
  moves_.break_down(infrastructure_fault(
      Rule::kStartFailed,
      fmt::format("{} of {} workers did not start within {}",
                  group_.plan().world_size() - workers_.seen(), group_.plan().world_size(),
                  base::in_seconds(spec_.deadlines.workers_started)),
      moves_.context(group_.front())));
}

}  // namespace robustrun::supervisor
