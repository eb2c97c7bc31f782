#include "agent/worker/checkpoint_notes.h"

#include <algorithm>
#include <utility>

namespace robustrun::agent {

void CheckpointNotes::take(wire::CheckpointNote note) {
  using Event = wire::CheckpointNote::Event;
  Kind& kind = kinds_[static_cast<std::size_t>(note.event)];
  const wire::CheckpointNote& before = kind.sum;
  const bool is_other = note.step != before.step || note.generation != before.generation ||
                        note.token != before.token || note.source != before.source;
  if (note.event == Event::kLoaded && is_other && loads_at_once_ < kLoadsAtOnceMax) {
    ++loads_at_once_;
    kind.at_once = true;
  }
  if (kind.samples.size() < kBlockingSamplesMax) {
    kind.samples.push_back(note.blocking);
  } else {
    kind.samples[before.count % kBlockingSamplesMax] = note.blocking;
  }
  note.count = before.count + 1;
  note.bytes += before.bytes;
  note.blocking = std::min(note.blocking + before.blocking, kBlockingSumMax);
  kind.sum = std::move(note);
  kind.has_news = true;
}

wire::CheckpointNote CheckpointNotes::summary(Kind& kind) {
  wire::CheckpointNote note = kind.sum;
  std::vector<base::Nanos> sorted = kind.samples;
  std::ranges::sort(sorted);
  note.blocking_median = sorted[sorted.size() / 2];
  note.blocking_most = sorted.back();
  kind.has_news = kind.at_once = false;
  return note;
}

std::vector<wire::CheckpointNote> CheckpointNotes::due(base::Nanos now) {
  std::vector<wire::CheckpointNote> notes;
  for (Kind& kind : kinds_) {
    const bool waits = kind.sent_at && now - *kind.sent_at < kCheckpointNoteInterval;
    if (!kind.has_news || (waits && !kind.at_once)) continue;
    kind.sent_at = now;
    notes.push_back(summary(kind));
  }
  return notes;
}

std::vector<wire::CheckpointNote> CheckpointNotes::rest() {
  std::vector<wire::CheckpointNote> notes;
  for (Kind& kind : kinds_) {
    if (kind.has_news) notes.push_back(summary(kind));
  }
  return notes;
}

}  // namespace robustrun::agent
