#pragma once
// Nodes that were evicted or given up, in the report of a run. Pure; made only from decisions.

#include <string>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::supervisor {

struct Facts;
struct JournalEntry;

struct Eviction {
  base::Nanos at{};  // since the run's start
  std::string words;  // the decision
  std::vector<std::string> nodes;
  // The nodes that came back later: they passed a check, or are not drained any more.
  std::vector<std::string> returned;
  template <class V>
  void fields(V& v) {
    v(1, "at", at);
    v(2, "words", words);
    v(3, "nodes", nodes);
    v(4, "returned", returned);
  }
};

// All evictions of the run, in order.
[[nodiscard]] std::vector<Eviction> evictions(const Facts& facts,
                                              const std::vector<JournalEntry>& entries);

}  // namespace robustrun::supervisor
