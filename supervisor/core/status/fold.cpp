#include "supervisor/core/status/fold.h"

#include <algorithm>

namespace robustrun::supervisor {
namespace {

// The actions of an event that are journaled, in order.
std::vector<JournalEntry> journaled(std::vector<Action> actions, base::Nanos at) {
  std::vector<JournalEntry> entries;
  for (Action& action : actions) {
    if (auto* decision = std::get_if<Decision>(&action)) {
      entries.push_back({at, std::move(*decision)});
    } else if (auto* group = std::get_if<GroupFormed>(&action)) {
      entries.push_back({at, std::move(*group)});
    } else if (auto* finish = std::get_if<Finish>(&action)) {
      entries.push_back({at, *finish});
    }
  }
  return entries;
}

}  // namespace

base::Result<Folded> fold(const std::vector<JournalEntry>& entries) {
  const Event* first = entries.empty() ? nullptr : std::get_if<Event>(&entries.front().what);
  const RunStarted* run = first == nullptr ? nullptr : std::get_if<RunStarted>(&first->body);
  if (run == nullptr) {
    return base::fail(base::Errc::kCorrupt, "the journal does not begin with the start of a run");
  }
  Folded folded;
  folded.run = *run;
  folded.started = first->at;
  std::size_t written = 0;   // of folded.unwritten
  for (const JournalEntry& entry : entries) {
    folded.last = std::max(folded.last, entry.at);
    folded.status.take(entry);
    folded.saves.take(entry);
    if (const auto* event = std::get_if<Event>(&entry.what)) {
      folded.unwritten = journaled(folded.job.handle(*event), event->at);
      written = 0;
      if (event == first && folded.job.state() == JobState::kIdle) {
        return base::fail(base::Errc::kCorrupt,
                          "the start of the run in its journal has no worker, or too many");
      }
    } else {
      ++written;
      if (const auto* finish = std::get_if<Finish>(&entry.what)) {
        folded.exit_code = finish->exit_code;
      }
    }
  }
  const auto there = std::min(written, folded.unwritten.size());
  folded.unwritten.erase(folded.unwritten.begin(),
                         folded.unwritten.begin() + static_cast<std::ptrdiff_t>(there));
  return folded;
}

}  // namespace robustrun::supervisor
