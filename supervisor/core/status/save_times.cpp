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

void SaveTimes::take(const JournalEntry& entry) {
  if (const auto* event = std::get_if<Event>(&entry.what)) {
    take(*event);
  } else if (const auto* decision = std::get_if<Decision>(&entry.what)) {
    if (decision->rule == Rule::kSecondSignal) {
      stop_began_.reset();  // the workers are killed
      does_steps_ = false;
    } else if (does_steps_ && !stop_began_ && lets_save(decision->rule)) {
      stop_began_ = entry.at;
    }
  }
}

void SaveTimes::take(const Event& event) {
  if (const auto* progress = std::get_if<Progress>(&event.body)) {
    does_steps_ = does_steps_ || progress->steps > 0;
  } else if (const auto* noted = std::get_if<CheckpointNoted>(&event.body)) {
    if (noted->total_most > base::Nanos{}) note(noted->total_most);
  } else if (std::holds_alternative<WorkersGone>(event.body)) {
    if (stop_began_) note(event.at - *stop_began_);
  } else if (std::holds_alternative<WorkerStarted>(event.body)) {
    stop_began_.reset();
    does_steps_ = false;
  }
}

void SaveTimes::note(base::Nanos took) { longest_ = std::max(longest_.value_or(took), took); }

void SaveTimes::add(const SaveTimes& other) {
  if (other.longest_) note(*other.longest_);
}

}  // namespace robustrun::supervisor
