#pragma once
// What a Job remembers of one node, as plain data. Internal to core/.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "supervisor/core/fault/fault_class.h"

namespace robustrun::supervisor {

// Of a node that is not tried again.
inline constexpr base::Nanos kNever = base::Nanos::max();

struct NodeState {
  enum class Agent : std::uint8_t { kLaunched, kJoined, kLost };
  // Every decision about the group asks these of all nodes, so they lie side by side.
  Agent agent = Agent::kLost;
  bool gone = true;                    // nothing of the current attempt is left here
  bool unfit = false;                  // as a check or the policy said: it takes no part
  bool checked = false;                // by a check, which may have found nothing out
  bool ending = false;                 // its agent says that the node is taken from us soon
  bool leaving = false;                // its newest agent was told to end: nothing starts here
  bool lacks_program = false;          // script, folder or interpreter: as it would be elsewhere
  bool on_probation = false;           // unfit, and being tested whether it still is
  std::uint32_t slots = 0;             // as the spec or the agent says
  base::Generation generation;         // of the agent that counts
  std::uint32_t failed_launches = 0;   // in a row, without a hello
  std::uint32_t ended = 0;             // workers of the current attempt
  std::uint32_t losses = 0;            // of its agents that had said hello, in this run
  base::Nanos launched_at{};
  base::Nanos retry_at{};              // of a lost one

  std::string address;                 // numeric, as the agent or the spec says
  std::string trouble;                 // how the last one was lost
  std::string listens;                 // endpoint of its agent; empty: none
  std::string bulk;                    // endpoint for copies in memory; empty: none
  // What its agent noticed last that could explain a failure, and when.
  std::optional<Classification> suspicion;
  base::Nanos suspected_at{};
  std::vector<base::Nanos> tolerated;  // findings of late
  std::vector<base::Nanos> blamed;     // failures of late that were traced to it
  std::vector<base::Nanos> broken;     // failures of late that surely are this machine's
  // Of an unfit one while the run waits for nodes (job_readmit.cpp).
  std::uint32_t retests = 0;           // since it was left out
  std::uint32_t returns = 0;           // after tests, also as a spare; in this run
  base::Nanos retest_at{};             // zero: not planned yet
  template <class V>
  void fields(V& v) {
    v(1, "agent", agent);
    v(2, "gone", gone);
    v(3, "generation", generation);
    v(4, "launched_at", launched_at);
    v(5, "failed_launches", failed_launches);
    v(6, "ended", ended);
    v(7, "address", address);
    v(8, "slots", slots);
    v(9, "losses", losses);
    v(10, "retry_at", retry_at);
    v(11, "trouble", trouble);
    v(12, "ending", ending);
    v(13, "listens", listens);
    v(16, "unfit", unfit);
    v(14, "checked", checked);
    v(15, "lacks_program", lacks_program);
    v(17, "suspicion", suspicion);
    v(18, "suspected_at", suspected_at);
    v(19, "tolerated", tolerated);
    v(20, "blamed", blamed);
    v(21, "on_probation", on_probation);
    v(22, "bulk", bulk);
    v(23, "broken", broken);
    v(24, "retests", retests);
    v(25, "returns", returns);
    v(26, "retest_at", retest_at);
    v(27, "leaving", leaving);
  }
  [[nodiscard]] bool may_work() const { return !unfit && !leaving; }
};

}  // namespace robustrun::supervisor
