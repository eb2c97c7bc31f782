#pragma once
// What a run has learnt of its machines, kept for later runs (supervisor/group/node_history.h).
// Pure: a journal in, notes out.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "supervisor/core/report/report.h"

namespace robustrun::supervisor {

// What a machine is blamed for, or cleared by. Faults of the user's code are none of these.
enum class NoteKind : std::uint8_t {
  kLost,     // it stopped answering while it was needed
  kUnfit,    // a check found it unfit, or it was evicted alone
  kHang,     // a worker on it was convicted of holding the others up
  kSlow,     // a worker on it, or its link, was slower than its peers
  kCleared,  // it passed a full check: what was noted before does not count any more
};
inline constexpr std::size_t kNoteKinds = 5;
// "lost", "unfit", "hang", "slow", "cleared"
[[nodiscard]] std::string_view to_string(NoteKind kind);

struct NodeNote {
  std::string host;        // as the user names it
  base::Nanos wall_time{};  // Unix time
  std::string run_id;
  NoteKind kind = NoteKind::kLost;
  std::string text;        // in words, printable
  template <class V>
  void fields(V& v) {
    v(1, "host", host);
    v(2, "wall_time", wall_time);
    v(3, "run", run_id);
    v(4, "kind", kind);
    v(5, "text", text);
  }
};

// In order of time; of each host and kind the first one of the run alone, because one fault may
// show many times. A check that finds every node unfit says something of the job, and nothing of
// the nodes.
[[nodiscard]] std::vector<NodeNote> notes_of(const std::vector<JournalEntry>& entries);

}  // namespace robustrun::supervisor
