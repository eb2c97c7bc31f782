#pragma once
// The standing of each machine: a summary of the notes about it from many runs. Pure.
//
// A machine that fails in one job after another (a "lemon node", arXiv 2410.21680) costs more than
// it contributes, so it remains a spare as long as there are other machines.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "supervisor/core/status/node_note.h"

namespace robustrun::supervisor {

// Older notes do not count.
inline constexpr base::Nanos kNoteCounts = std::chrono::days(30);
// Weights of notes: a lost or unfit machine is surely to blame; a hang or slowness there may be the
// program's.
inline constexpr std::uint32_t kSureWeight = 2;
inline constexpr std::uint32_t kUnsureWeight = 1;
// A machine with at least this weight, from at least this many runs, is a repeat offender.
inline constexpr std::uint32_t kOffenderWeight = 4;
inline constexpr std::uint32_t kOffenderRuns = 2;

struct NodeStanding {
  std::string host;
  std::uint32_t weight = 0;  // sum over `notes`; of one kind and run, only one counts
  std::uint32_t runs = 0;  // number of runs in `notes`
  bool is_offender = false;
  bool was_cleared = false;  // the machine was cleared, and nothing has been noted since
  base::Nanos last{};  // Unix time of the newest note that counts, or of the clearing
  std::vector<NodeNote> notes;  // those that count, newest first
  template <class V>
  void fields(V& v) {
    v(1, "host", host);
    v(2, "offender", is_offender);
    v(3, "cleared", was_cleared);
    v(4, "weight", weight);
    v(5, "runs", runs);
    v(6, "last", last);
    v(7, "notes", notes);
  }
};

// The worst host first, cleared hosts last. Hosts whose notes are all older than kNoteCounts are
// left out. `now`: Unix time; later notes count like new ones, as clocks differ.
[[nodiscard]] std::vector<NodeStanding> standings(std::vector<NodeNote> notes, base::Nanos now);

// "lost in 2 runs, hang in 1 run"
[[nodiscard]] std::string in_words(const NodeStanding& standing);

}  // namespace robustrun::supervisor
