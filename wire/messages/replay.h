#pragma once
// A replay: groups of nodes run a test program, so that a machine that computes wrongly is found
// (supervisor/core/types/replay_plan.h). Orders of the supervisor and answers of the agent.
//
//   supervisor                         agent
//   ReservePort   →   to a group's first node: a port for the group; ← PortReserved
//   ReplayNode    →   starts the program once per slot; ← NodeReplayed at its end
//   EndReplay     →   kills what is left of it
// An order with another number ends the replay that is under way. A repeated order starts nothing,
// and is answered again. docs/formats/robustrun.proto has the messages in protobuf's schema
// language.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "wire/messages/worker_template.h"

namespace robustrun::wire {

struct ReplayNode {
  std::uint64_t replay = 0;
  base::Nanos limit{};  // after this time the program is killed and counts as failed
  std::vector<std::string> command{};  // argv; empty: robustrun's alignment test
  std::vector<WorkerSlot> slots;  // ranks within the node's group
  std::uint32_t group_rank = 0;
  std::uint32_t group_world_size = 1;
  std::uint32_t world_size = 1;
  std::string master_addr;
  std::uint32_t master_port = 0;
  template <class V>
  void fields(V& v) {
    v(1, "replay", replay);
    v(2, "limit", limit);
    v(3, "command", command);
    v(4, "slots", slots);
    v(5, "group_rank", group_rank);
    v(6, "group_world_size", group_world_size);
    v(7, "world_size", world_size);
    v(8, "master_addr", master_addr);
    v(9, "master_port", master_port);
  }
};

struct NodeReplayed {
  enum class Outcome : std::uint8_t {
    kNotRun,  // could not be started
    kPassed,  // every process exited with 0
    kFailed,
  };
  std::uint64_t replay = 0;
  Outcome outcome = Outcome::kNotRun;
  // Nonzero exit codes, or minus the signal's number, of processes that the agent did not kill; at
  // most kReplayCodesMax (agent/node/limits.h).
  std::vector<std::int32_t> codes;
  std::string why;  // why the program failed or did not run; empty if it passed
  template <class V>
  void fields(V& v) {
    v(1, "replay", replay);
    v(2, "outcome", outcome);
    v(3, "codes", codes);
    v(4, "why", why);
  }
};

struct EndReplay {
  std::uint64_t replay = 0;
  template <class V>
  void fields(V& v) {
    v(1, "replay", replay);
  }
};

}  // namespace robustrun::wire
