#pragma once
// Checkpoints in the report of a run, as far as the workers reported them. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::supervisor {

struct Facts;
struct Incident;

struct LoadReport {
  std::uint32_t attempt = 0;
  base::Nanos at{};  // of the report, since the run's start
  std::uint64_t step = 0;
  std::string source;  // "disk", "memory", …; empty: unknown
  std::uint32_t ranks = 0;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "at", at);
    v(3, "step", step);
    v(4, "source", source);
    v(5, "ranks", ranks);
  }
};

// Over all attempts. The time of a save is that of the rank that waited longest, as the whole job
// did no steps meanwhile.
struct CheckpointReport {
  std::uint64_t saves = 0;
  std::uint64_t committed = 0;
  std::optional<std::uint64_t> last_committed_step;
  std::uint64_t bytes = 0;  // of all ranks
  base::Nanos blocking{};  // of all saves together
  base::Nanos blocking_median{};  // of one save
  base::Nanos blocking_most{};
  std::vector<LoadReport> loads;  // in order
  std::vector<std::string> set_aside;  // decisions about checkpoints that led to failures
  // Copies of lost nodes' ranks in the memory of their keepers, except those that were still being
  // saved when the next attempt began.
  std::uint32_t copies_saved = 0, copies_not_saved = 0;
  std::vector<std::string> copies_lost;  // decisions about copies that could not be saved
  template <class V>
  void fields(V& v) {
    v(1, "saves", saves);
    v(2, "committed", committed);
    v(3, "last_committed_step", last_committed_step);
    v(4, "bytes", bytes);
    v(5, "blocking", blocking);
    v(6, "blocking_median", blocking_median);
    v(7, "blocking_most", blocking_most);
    v(8, "loads", loads);
    v(9, "set_aside", set_aside);
    v(10, "copies_saved", copies_saved);
    v(11, "copies_not_saved", copies_not_saved);
    v(12, "copies_lost", copies_lost);
  }
};

// A trainer's half-written checkpoint, moved aside before an attempt (--checkpoints).
struct MovedCheckpoint {
  std::uint32_t attempt = 0;  // that began afterwards
  base::Nanos at{};  // since the run's start
  std::string path;
  std::string moved_to;
  std::string evidence;
  template <class V>
  void fields(V& v) {
    v(1, "attempt", attempt);
    v(2, "at", at);
    v(3, "path", path);
    v(4, "moved_to", moved_to);
    v(5, "evidence", evidence);
  }
};

// nullopt if the workers reported no checkpoints, and no copies of lost nodes had to be saved.
[[nodiscard]] std::optional<CheckpointReport> checkpoint_report(const Facts& facts);
// Fills in the last commit up to the incident's attempt, and the first load of a later attempt.
// Uses the incident's `step_before`, if that is set.
void describe_checkpoints(const Facts& facts, Incident& incident);
// "12 saved, 11 committed, the last at step 1100; 4.2 GB written; the job waited 1.2 s for them: …"
[[nodiscard]] std::string checkpoint_words(const CheckpointReport& report);
// "3 copies saved from the memory of other nodes, 1 not"; empty if both counts are 0.
[[nodiscard]] std::string saved_copies_words(const CheckpointReport& report);
[[nodiscard]] std::vector<std::string> load_words(const CheckpointReport& report);
[[nodiscard]] std::vector<MovedCheckpoint> moved_checkpoints(const Facts& facts);
// "out/checkpoint-4 was half-written (no trainer_state.json; …): moved to out/…"
[[nodiscard]] std::string in_words(const MovedCheckpoint& moved);

}  // namespace robustrun::supervisor
