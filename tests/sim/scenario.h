#pragma once
// The scenario of a seed: a job, and how much goes wrong around it.

#include <csignal>
#include <string>
#include <vector>

#include "supervisor/core/types/events.h"
#include "supervisor/placement_request.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/network.h"
#include "tests/sim/scenario_job.h"
#include "tests/sim/shipped_ladders.h"
#include "tests/sim/update_wish.h"
#include "tests/supervisor/policy_words.h"

namespace robustrun::sim {

struct Scenario {
  std::uint64_t seed = 0;
  supervisor::JobSpec spec;

  // Messages between supervisor and agents, both ways.
  double lost = 0, late = 0, twice = 0;
  double connection_breaks = 0;  // per message
  double slow_ways = 0, wrong_clocks = 0;  // of each node
  std::uint32_t partitions = 0;
  double racks_die = 0;         // of each: two machines
  bool is_local = false;        // agents end with their supervisor, as over a socket pair
  bool long_away = false;       // a takeover takes long
  // Agents: of each one started.
  double dies = 0, never_joins = 0, cannot_start = 0, deaf = 0;
  double machine_dies = 0;      // with everything on it; it may return
  double cut_off = 0;           // is given up with its workers although it lives
  // Workers: of each one started.
  double ignores_term = 0, unkillable = 0, slow_start = 0;
  // Attempts.
  double finishes = 0.5;        // all ranks end well
  double start_fails = 0;       // a worker's program cannot be run
  double port_conflicts = 0, port_fails = 0;
  bool has_bug = false;         // dies at start, the same way every time
  bool reports_steps = true;
  bool keeps_copies = false;    // agents reach each other, and workers keep copies

  // Of each node with an agent, once a minute: something that may pass, or that has broken it.
  double flaps = 0, breaks = 0;
  double node_ends = 0;         // is announced to be taken away
  double departs = 0;           // its agent is told to end
  double hangs = 0;             // of each minute of a running attempt
  bool has_tracer = false;      // snapshots are analyzed; otherwise verdicts are invented

  // Of each node that is checked.
  double unfit = 0, warned = 0;

  // Of each placement question.
  double never_placed = 0, misplaced = 0;
  supervisor::PlacementRequest placement;

  double crashes = 0;           // of the supervisor, per event
  double lives_on = 0;          // of each that seems dead
  std::size_t dies_after_record = 0;  // of its journal, once; 0: never
  double commands = 0;          // of users, per event
  struct Signal {
    Nanos at;
    int number;
    bool forward_only;
    supervisor::SignalReceived::Cause cause;
  };
  std::vector<Signal> signals;
  struct Volunteer {
    Nanos at;
    supervisor::NodeSpec node;
  };
  std::vector<Volunteer> volunteers;   // nodes that join an open group by themselves

  std::vector<UpdateWish> updates;

  // From here on nothing goes wrong, and after kSettled all earlier trouble is over: workers run
  // for an hour and a half; machines and partitions are away for up to an hour.
  static constexpr Nanos kSettled = minutes(210);
  Nanos calm_from = Nanos::max();
  [[nodiscard]] bool ends_up_calm() const { return calm_from != Nanos::max(); }

  Nanos latest_end{};  // a longer run is stuck
};

}  // namespace robustrun::sim
