#include "supervisor/core/status/save_times.h"

#include <algorithm>
#include <array>
#include <variant>

namespace robustrun::supervisor {
namespace {

// Decisions with which workers are told to save and end.
bool lets_save(Rule rule) {
  constexpr std::array kStops = {Rule::kSignal,   Rule::kPreempted, Rule::kTimeLimit,
                                 Rule::kStepGoal, Rule::kNodeLeft,  Rule::kSlowEvicted};
  return std::ranges::find(kStops, rule) != kStops.end();
}

}  // namespace

base::Nanos LongestSaves::expected(base::Nanos grace) const {
  return std::max(reported.value_or(grace), stop);
}

// An attempt that is newer than the one before is current from now on.
bool SaveTimes::is_current(base::Attempt attempt) {
  if (attempt > attempt_) {
    attempt_ = attempt;
    does_steps_ = false;
    stop_.reset();
    gone_.clear();
  }
  return attempt == attempt_;
}

void SaveTimes::take(const JournalEntry& entry) {
  if (const auto* event = std::get_if<Event>(&entry.what)) {
    take(*event);
  } else if (const auto* decision = std::get_if<Decision>(&entry.what)) {
    take(*decision, entry.at);
  }
}

void SaveTimes::take(const Decision& decision, base::Nanos at) {
  if (!is_current(decision.attempt)) return;
  if (decision.rule == Rule::kSecondSignal) {
    stop_.reset();  // the workers are killed
    does_steps_ = false;
  } else if (does_steps_ && !stop_ && lets_save(decision.rule)) {
    stop_ = {at, grace_};
  }
}

void SaveTimes::take(const Event& event) {
  grace_ = default_grace_;
  if (const auto* started = std::get_if<RunStarted>(&event.body)) {
    default_grace_ = started->spec.deadlines.shutdown_grace;
  } else if (const auto* signal = std::get_if<SignalReceived>(&event.body)) {
    grace_ = signal->grace.value_or(default_grace_);
  } else if (const auto* progress = std::get_if<Progress>(&event.body)) {
    if (is_current(progress->attempt)) does_steps_ = does_steps_ || progress->steps > 0;
  } else if (const auto* noted = std::get_if<CheckpointNoted>(&event.body)) {
    if (noted->total_most > base::Nanos{}) note_report(noted->total_most);
  } else if (const auto* gone = std::get_if<WorkersGone>(&event.body)) {
    if (!is_current(gone->attempt) || !gone_.insert(event.node).second || !stop_) return;
    note_stop(std::min(event.at - stop_->began, stop_->grace));
  } else if (const auto* worker = std::get_if<WorkerStarted>(&event.body)) {
    static_cast<void>(is_current(worker->attempt));
  }
}

void SaveTimes::note_report(base::Nanos took) {
  longest_.reported = std::max(longest_.reported.value_or(took), took);
}

void SaveTimes::note_stop(base::Nanos took) { longest_.stop = std::max(longest_.stop, took); }

void SaveTimes::add(const SaveTimes& other) {
  if (other.longest_.reported) note_report(*other.longest_.reported);
  note_stop(other.longest_.stop);
}

}  // namespace robustrun::supervisor
