#pragma once
// A dual-phase replay as a step of the policy (replay_plan.h has the algorithm): what came of
// groups that ran side by side, as an event, and which groups are next, until it is over. Pure.
//
// Groups that run at the same time are a wave. First all whole horizontal groups, then, one after
// the other, those that lack a machine; then the vertical ones likewise. It ends early where more
// waves would add nothing: no group failed, all did, or the program itself named a machine.
//
// The alignment test votes among the machines of a group, and a single machine cannot be outvoted:
// fewer than four machines form one group, which is the only wave.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/core/ids.h"
#include "supervisor/core/types/replay_events.h"
#include "supervisor/core/types/replay_plan.h"

namespace robustrun::supervisor {

// The machines to blame, and how they were found, in words that follow "the replay: ".
struct ReplayFinding {
  std::vector<base::NodeId> culprits;
  std::string text;
  std::vector<std::string> evidence;
};

class ReplayCourse {
 public:
  // Why a replay on `machines` machines could not single one out. `unit`: machines that one copy of
  // the model takes. `own_program`: the user's replay command runs, not the alignment test.
  static Obstacle obstacle(std::size_t machines, std::uint32_t unit, bool own_program);

  // Requires that there is no obstacle. `machines`: in the order of their places.
  void begin(std::vector<base::NodeId> machines, std::uint32_t unit, bool own_program);
  // The groups to run now; each node is in at most one of them.
  [[nodiscard]] std::vector<std::vector<base::NodeId>> wave() const;
  // Takes the results of wave(), in its order; a missing one counts as untested. True: another wave
  // follows.
  bool take(std::span<const GroupReplayed> groups);
  // Valid once take() has returned false. `names`: by NodeId.
  [[nodiscard]] ReplayFinding finding(const std::vector<std::string>& names) const;

  template <class V>
  void fields(V& v) {
    v(1, "machines", machines_);
    v(2, "m", m_);
    v(3, "n", n_);
    v(4, "is_vote", is_vote_);
    v(5, "is_second", is_second_);
    v(6, "wave", wave_);
    v(7, "lacking", lacking_);
    v(8, "first", first_);
    v(9, "second", second_);
    v(10, "named", named_);
    v(11, "evidence", evidence_);
  }

 private:
  using Outcome = GroupReplayed::Outcome;
  void enter_phase(bool second);
  bool next_wave();
  [[nodiscard]] std::vector<ReplayGroup> groups(bool second) const;
  [[nodiscard]] ReplayGroup group(std::uint32_t number) const;  // of this phase, filled up
  [[nodiscard]] const std::vector<Outcome>& outcomes() const {
    return is_second_ ? second_ : first_;
  }
  [[nodiscard]] std::vector<std::size_t> failed(bool second) const;
  [[nodiscard]] bool all_failed(bool second) const;
  [[nodiscard]] std::vector<base::NodeId> nodes_of(const std::vector<Machine>& machines) const;

  std::vector<base::NodeId> machines_;  // by Machine
  std::uint32_t m_ = 0, n_ = 0;
  bool is_vote_ = false;  // of all machines at once
  bool is_second_ = false;  // phase
  std::vector<std::uint32_t> wave_, lacking_;  // groups by number: now, and later in this phase
  std::vector<Outcome> first_, second_;  // by group, of the phases
  std::vector<base::NodeId> named_;
  std::vector<std::string> evidence_;  // of groups that did not pass
};

}  // namespace robustrun::supervisor
