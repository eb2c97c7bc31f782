#pragma once
// What a Job remembers of one node. Plain data.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/ids.h"
#include "supervisor/core/fault/fault_class.h"

namespace robustrun::supervisor {

// The retry time of a node whose agent is not launched again.
inline constexpr base::Nanos kNever = base::Nanos::max();

struct NodeState {
  enum class Agent : std::uint8_t { kLaunched, kJoined, kLost };
  // Every decision about the group reads the fields up to `losses` of all nodes, so they are stored
  // side by side.
  Agent agent = Agent::kLost;
  bool gone = true;  // no process of the current attempt is left on the node
  bool unfit = false;  // a check, the policy or a drain excluded it
  bool checked = false;  // a check included it, with or without a result
  bool ending = false;  // its agent reports that the node will be taken away soon
  bool leaving = false;  // its newest agent was told to end: nothing starts here
  // The last check did not find the script, its folder or the interpreter. Mostly they are missing
  // on all nodes, so that another node would not help.
  bool lacks_program = false;
  bool bad_input = false;  // its agent could not use an option of the run
  bool unreported = false;  // the failed start of its agent is still to be reported (agents.h)
  bool on_probation = false;  // unfit, and being tested again
  std::uint32_t slots = 0;  // workers; from the spec or the agent
  base::Generation generation;  // of the current agent
  std::uint32_t failed_launches = 0;  // in a row, without a hello (agents.h)
  std::uint32_t ended = 0;  // workers of the current attempt that have ended (workers.h)
  // Agents lost in this run after their hello, except those that had been told to end, plus 1 for
  // each return (probation.h). Nodes with fewer losses get places first.
  std::uint32_t losses = 0;
  base::Nanos launched_at{};
  base::Nanos retry_at{};  // when a lost agent is launched again
  std::string address;  // numeric; from the agent or the spec
  std::string trouble;  // why the last agent was lost, or why the node is unfit
  std::string lasting;  // as AgentLost::lasting
  std::string listens;  // endpoint of its agent for a supervisor on another machine; empty: none
  std::string bulk;  // endpoint for copies in memory; empty: none
  std::optional<Classification> suspicion;  // the agent's last finding that could explain a failure
  base::Nanos suspected_at{};  // time of `suspicion`
  std::vector<base::Nanos> tolerated;  // times of recent tolerable findings (health.h)
  std::vector<base::Nanos> blamed;  // times of recent failures traced to it (remedies.h)
  std::vector<base::Nanos> broken;  // times of failures that are surely this machine's fault
  // Tests of an unfit node (probation.h).
  std::uint32_t retests = 0;  // tests since it was left out
  std::uint32_t returns = 0;  // how often it took part again in this run, also as a spare
  base::Nanos retest_at{};  // time of the next test; 0: not planned yet
  // What the scheduler plans for the node (drains.h).
  std::string drained;  // empty: nothing
  bool left_drained = false;  // unfit only because of `drained`
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
    v(28, "drained", drained);
    v(29, "left_drained", left_drained);
    v(30, "bad_input", bad_input);
    v(31, "unreported", unreported);
    v(32, "lasting", lasting);
  }
  [[nodiscard]] bool may_work() const { return !unfit && !leaving; }
  [[nodiscard]] bool is_there() const { return agent == Agent::kJoined && may_work(); }
};

}  // namespace robustrun::supervisor
