#pragma once
// What is done about a fault, as data: a ladder of steps for each first action of the fault table.
// The policy comes from configs/policy.toml and a site's or job's own file
// (cli/tables/policy_file.h). It travels in the JobSpec and so is in the journal. escalation.h
// climbs the ladders; docs/policy.md explains them. The shipped policy follows ByteRobust, section
// 4 (arXiv 2509.16293).

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/core/clock.h"
#include "supervisor/core/types/fault_table.h"
#include "supervisor/core/types/preflight.h"

namespace robustrun::supervisor {

// A step of a ladder. Journals contain the numbers: new values are appended, and no number is used
// again.
enum class Step : std::uint8_t {
  kRestart,   // restart on the nodes there are
  kEvict,     // restart without the machine to blame; another one replaces it
  kCheck,  // restart after a check of all nodes; nodes that fail it are left out
  kRollBack,  // restart with the newest older version that made progress
  kGiveUp,  // end the run
  kReplay,  // restart after a dual-phase replay of the group's nodes, without faulty ones
};
inline constexpr std::size_t kSteps = 6;

// "restart", "evict", "check", "roll back", "give up", "replay"
const char* to_string(Step step);

struct Rung {
  Step step = Step::kRestart;
  std::uint32_t times = 0;  // how often it is taken before the next rung; 0: any number
  template <class V>
  void fields(V& v) {
    v(1, "step", step);
    v(2, "times", times);
  }
};

struct Ladder {
  FirstAction action = FirstAction::kRestart;
  std::vector<Rung> rungs;
  template <class V>
  void fields(V& v) {
    v(1, "action", action);
    v(2, "rungs", rungs);
  }
};

// When a machine that slows the others down is worth a restart without it (slow_vote.h).
struct SlowPolicy {
  std::uint32_t rounds = 5;  // looks at all workers before a machine is named; 0: never replace one
  base::Nanos every = std::chrono::seconds(10);
  // Time from the decision until the restart. The job may still recover in that time.
  base::Nanos drain_within = std::chrono::minutes(1);
  // Used when the remaining time of the job, or the cost of a restart, is unknown.
  base::Nanos assumed_remaining = std::chrono::hours(24);
  base::Nanos assumed_price = std::chrono::minutes(10);
  template <class V>
  void fields(V& v) {
    v(1, "rounds", rounds);
    v(2, "every", every);
    v(3, "drain_within", drain_within);
    v(4, "assumed_remaining", assumed_remaining);
    v(5, "assumed_price", assumed_price);
  }
};

// What is done about a node that the scheduler drains, reboots or maintains. Journals contain the
// numbers.
enum class DrainAnswer : std::uint8_t {
  kAtRestart,  // a spare takes its place at the next restart
  kNow,  // all workers save, and restart with a spare in its place
  kSay,  // the plan is only reported
};

// Groups of ranks, by the kind of parallelism: tensor, context, expert, data, pipeline
// (topo::GroupKind, in its order).
enum class RankGroups : std::uint8_t { kTp, kCp, kEp, kDp, kPp };

struct Policy {
  // An action without a ladder, and anything beyond the last rung, is answered by a restart.
  std::vector<Ladder> ladders;
  // This many tolerable findings of a node within tolerated_within have no consequence.
  std::uint32_t tolerated = 2;
  base::Nanos tolerated_within = std::chrono::minutes(5);
  // A node to which `blamed` failures within blamed_within were traced is evicted, if there is a
  // spare, unless the failures look like the script's or the data's. 0: never.
  std::uint32_t blamed = 3;
  base::Nanos blamed_within = std::chrono::hours(1);
  // For this time after a finding about a node, the finding explains a failure that nothing else
  // explains.
  base::Nanos suspected_for = std::chrono::minutes(10);
  // After this much progress the ladders are climbed from the bottom again.
  base::Nanos forgotten_after = std::chrono::minutes(10);
  PreflightDepth check = PreflightDepth::kFull;  // how nodes are checked between two attempts
  SlowPolicy slow;
  base::Nanos replay_limit = std::chrono::minutes(10);  // for groups that are replayed together
  std::uint32_t replay_unit = 1;  // machines that one copy of the model takes
  // Whether a metric that is not a number, or jumps, ends the attempt, and how often in a run at
  // most.
  bool acts_on_nan = false;
  bool acts_on_jump = false;
  std::uint32_t alarms_acted_on = 4;
  // A checkpoint is set aside after poison_after failures within poison_steps steps of a resume
  // from it; one such failure is enough if a metric ended the attempt. poison_after = 0: never.
  std::uint32_t poison_after = 2;
  std::uint32_t poison_steps = 20;
  // A rank ends the attempt if all others wait for it and it only sleeps, or waits for a lock of
  // the script, for this long. 0: such a rank gets the time of any other hang
  // (supervisor/watch/hang_watch.h).
  base::Nanos hang_still = std::chrono::seconds(10);
  DrainAnswer drain = DrainAnswer::kAtRestart;

  // Without ladders every failure is answered by a restart, as long as the budget allows it.
  [[nodiscard]] bool is_on() const { return !ladders.empty(); }
  template <class V>
  void fields(V& v) {
    v(1, "ladders", ladders);
    v(2, "tolerated", tolerated);
    v(3, "tolerated_within", tolerated_within);
    v(4, "blamed", blamed);
    v(5, "blamed_within", blamed_within);
    v(6, "suspected_for", suspected_for);
    v(7, "forgotten_after", forgotten_after);
    v(8, "check", check);
    v(9, "slow", slow);
    v(40, "replay_limit", replay_limit);
    v(41, "replay_unit", replay_unit);
    v(42, "acts_on_nan", acts_on_nan);
    v(43, "acts_on_jump", acts_on_jump);
    v(44, "alarms_acted_on", alarms_acted_on);
    v(50, "poison_after", poison_after);
    v(51, "poison_steps", poison_steps);
    v(52, "hang_still", hang_still);
    v(53, "drain", drain);
  }
};

// Kinds of groups whose machines may be evicted together, so that their copies must lie elsewhere
// (topo/spares/backup.h). A verdict on a hang or on slowness may name all ranks of a communicator;
// then all of their machines are evicted. Without ladders no machine is evicted.
[[nodiscard]] inline std::vector<RankGroups> evictable_groups(const Policy& policy) {
  if (!policy.is_on()) return {};
  return {RankGroups::kTp, RankGroups::kCp, RankGroups::kEp, RankGroups::kDp, RankGroups::kPp};
}

}  // namespace robustrun::supervisor
