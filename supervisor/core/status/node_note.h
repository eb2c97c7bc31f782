#pragma once
// Notes about a run's machines, kept for later runs (supervisor/group/node_history.h). Pure: a
// journal in, notes out.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "supervisor/core/types/journal_entry.h"

namespace robustrun::supervisor {

// Reasons to blame a machine, or to clear it. Faults of the user's code are not noted.
enum class NoteKind : std::uint8_t {
  kLost,     // the machine stopped answering
  kUnfit,    // a check found it unfit, or it was evicted alone
  kHang,     // a worker on it caused a confirmed hang
  kSlow,     // it, a worker on it, or its link was slower than its peers
  kCleared,  // it passed a full check: earlier notes do not count any more
  kForgotten,  // the user dropped earlier notes
};
inline constexpr std::size_t kNoteKinds = 6;
// "lost", "unfit", "hang", "slow", "cleared", "forgotten"
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

// In the journal's order; only the first note of each host and kind, because one fault may show
// many times. A host that never had an agent in this run is not noted as lost, as its name may be
// mistyped. A check that finds every node unfit or slow is evidence about the job, not about the
// nodes.
[[nodiscard]] std::vector<NodeNote> notes_of(const std::vector<JournalEntry>& entries);

// By host: the Unix time at which its earlier notes were dropped last.
[[nodiscard]] std::map<std::string, base::Nanos> forgotten_until(
    const std::vector<NodeNote>& notes);

// Removes the notes that are forgotten, and those of kind kForgotten themselves.
void drop_forgotten(std::vector<NodeNote>& notes);

}  // namespace robustrun::supervisor
