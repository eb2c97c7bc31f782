// A worker's messages about its checkpoints, condensed.
#include "agent/worker/checkpoint_notes.h"

#include <doctest/doctest.h>

#include <chrono>

namespace checkpoint_notes_test {

using namespace robustrun;
using agent::CheckpointNotes;
using wire::CheckpointNote;
using Event = CheckpointNote::Event;

namespace {

constexpr base::Nanos kNow = std::chrono::seconds(100);

CheckpointNote note(Event event, std::uint64_t step, std::int64_t blocking_ms = 1) {
  CheckpointNote one;
  one.event = event;
  one.step = step;
  one.bytes = 10;
  one.blocking = std::chrono::milliseconds(blocking_ms);
  return one;
}

}  // namespace

TEST_CASE("the first note is sent at once, and all others of an interval as one") {
  CheckpointNotes notes;
  CHECK(notes.due(kNow).empty());
  notes.take(note(Event::kSaved, 1, 5));
  const auto first = notes.due(kNow);
  REQUIRE(first.size() == 1);
  CHECK(first[0].step == 1);
  CHECK(first[0].count == 1);
  for (std::uint64_t step = 2; step <= 101; ++step) {
    notes.take(note(Event::kSaved, step, static_cast<std::int64_t>(step)));
    CHECK(notes.due(kNow + agent::kCheckpointNoteInterval - base::Nanos(1)).empty());
  }
  const auto others = notes.due(kNow + agent::kCheckpointNoteInterval);
  REQUIRE(others.size() == 1);
  CHECK(others[0].step == 101);
  CHECK(others[0].count == 101);
  CHECK(others[0].bytes == 1010);
  CHECK(others[0].blocking == std::chrono::milliseconds(5 + 101 * 102 / 2 - 1));
  CHECK(others[0].blocking_median == std::chrono::milliseconds(51));
  CHECK(others[0].blocking_most == std::chrono::milliseconds(101));
  CHECK(notes.due(kNow + 2 * agent::kCheckpointNoteInterval).empty());
}

TEST_CASE("events do not wait for each other, and a dead worker's last notes are sent") {
  CheckpointNotes notes;
  notes.take(note(Event::kSaved, 1));
  CHECK(notes.due(kNow).size() == 1);
  notes.take(note(Event::kCommitted, 1));
  CHECK(notes.due(kNow).size() == 1);
  notes.take(note(Event::kSaved, 2));
  notes.take(note(Event::kCommitted, 2));
  CHECK(notes.due(kNow).empty());
  CHECK(notes.rest().size() == 2);
  CHECK(notes.rest().empty());
}

TEST_CASE("a load of another checkpoint is sent at once, a limited number of times") {
  CheckpointNotes notes;
  for (std::uint64_t step = 1; step <= agent::kLoadsAtOnceMax; ++step) {
    notes.take(note(Event::kLoaded, step));
    CHECK(notes.due(kNow).size() == 1);
    notes.take(note(Event::kLoaded, step));  // the same one again
    CHECK(notes.due(kNow).empty());
  }
  notes.take(note(Event::kLoaded, 1000));
  CHECK(notes.due(kNow).empty());
  CHECK(notes.rest().at(0).step == 1000);
}

TEST_CASE("of very many saves the newest count, and sums stay in range") {
  CheckpointNotes notes;
  for (std::size_t i = 0; i < agent::kBlockingSamplesMax; ++i)
    notes.take(note(Event::kSaved, i, 9));
  for (std::size_t i = 0; i < agent::kBlockingSamplesMax; ++i)
    notes.take(note(Event::kSaved, i, 1));
  CHECK(notes.due(kNow).at(0).blocking_most == std::chrono::milliseconds(1));
  CheckpointNote huge = note(Event::kSaved, 1);
  huge.blocking = base::Nanos(std::int64_t{1} << 60);
  for (int i = 0; i < 20; ++i) notes.take(huge);
  CHECK(notes.rest().at(0).blocking == agent::kBlockingSumMax);
}

}  // namespace checkpoint_notes_test
