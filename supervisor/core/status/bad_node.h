#pragma once
// The evidence against an evicted node, for --on-bad-node (docs/formats/events.md). Pure; the
// outlets pass in the journal's entries one by one.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/core/types/journal_entry.h"

namespace robustrun::supervisor {

// The newest findings of each node's agent are kept, at most this many.
inline constexpr std::size_t kBadNodeFindingsMax = 8;

struct BadNode {
  std::string run;
  std::string program;
  std::vector<std::string> nodes;  // several: any of them may be to blame
  std::string why;  // "n3 is evicted: uncorrectable ECC error"
  base::Nanos at{};  // Unix time
  std::uint32_t attempt = 0;
  std::string cause;  // why the attempt ended; empty: it did not end
  std::vector<std::string> evidence;  // for `cause`
  std::optional<Classification> looks_like;
  std::vector<std::string> findings;  // of the nodes' agents, in order: "GPU 3: Xid 79"
  template <class V>
  void fields(V& v) {
    v(1, "run", run);
    v(2, "program", program);
    v(3, "nodes", nodes);
    v(4, "why", why);
    v(5, "at", at);
    v(6, "attempt", attempt);
    v(7, "cause", cause);
    v(8, "evidence", evidence);
    v(9, "looks_like", looks_like);
    v(10, "findings", findings);
  }
};

class BadNodeFold {
 public:
  // Returns the evidence if the entry evicts nodes. A node that is drained for the scheduler is not
  // bad.
  std::optional<BadNode> take(const JournalEntry& entry);

 private:
  void take(const Event& event);

  std::string run_;
  std::string program_;
  base::Nanos first_at_{};
  base::Nanos wall_time_{};
  std::vector<std::string> names_;  // by NodeId
  std::map<base::NodeId, std::vector<std::string>> findings_;
  // Of the newest attempt.
  std::optional<base::Attempt> attempt_;
  std::string cause_;
  std::vector<std::string> evidence_;
  std::optional<Classification> looks_like_;
};

}  // namespace robustrun::supervisor
