#pragma once
// Faults that were injected into a run, and the incidents that they explain. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::supervisor {

struct Facts;
struct Incident;

// A fault made by `robustrun inject`.
struct InjectedFault {
  std::string kind;
  base::Nanos at{};                        // since the run's start
  std::uint32_t attempt = 0;
  std::string node;                        // empty: the supervisor
  std::optional<std::uint32_t> rank;       // nullopt: the whole node, or the supervisor
  std::string done;                        // what was done, in words
  template <class V>
  void fields(V& v) {
    v(1, "kind", kind);
    v(2, "at", at);
    v(3, "attempt", attempt);
    v(4, "node", node);
    v(5, "rank", rank);
    v(6, "done", done);
  }
};
// "kill of rank 3 on beta".
std::string injected_words(const InjectedFault& fault);

// All injected faults in the journal, in order.
[[nodiscard]] std::vector<InjectedFault> injected_faults(const Facts& facts);

// If one of `faults` explains the incident, fills `incident.injected`, and drops `looks_like` if
// that says "unexplained". The incident's attempt, rank, node and time must be set.
void explain_by_injection(const std::vector<InjectedFault>& faults, Incident& incident);

}  // namespace robustrun::supervisor
