#pragma once
// The course of a dual-phase replay (types/replay_plan.h has the algorithm): takes the results of
// groups that ran at the same time, and tells which groups run next, until the replay is over.
// Pure.
//
// Groups that run at the same time are a wave. All complete horizontal groups are the first wave.
// Then the groups that lack a machine run, one after the other. The vertical groups follow in the
// same way. The replay ends early if more waves would show nothing new: no group failed, all
// failed, or the alignment test named a machine.
//
// The alignment test compares the machines of a group. With fewer than four machines each group
// would have a single one, which nothing can be compared with. So then all machines form one group,
// which is the only wave.

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
  // Why a replay on `machines` machines could not single one out; kNone: it could. `unit`: machines
  // that one copy of the model takes. `own_program`: the user's replay command runs, not the
  // alignment test.
  static Obstacle obstacle(std::size_t machines, std::uint32_t unit, bool own_program);

  // Requires that there is no obstacle. `machines`: in the order of their places.
  void begin(std::vector<base::NodeId> machines, std::uint32_t unit, bool own_program);
  // The groups to run now. No node is in two of them.
  [[nodiscard]] std::vector<std::vector<base::NodeId>> wave() const;
  // Takes the results of wave(), in the order of its groups; a missing result counts as untested.
  // True: another wave follows.
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
  [[nodiscard]] ReplayGroup group(std::uint32_t number) const;  // of this phase, with its helpers
  [[nodiscard]] const std::vector<Outcome>& outcomes() const {
    return is_second_ ? second_ : first_;
  }
  [[nodiscard]] std::vector<std::size_t> failed(bool second) const;
  [[nodiscard]] bool all_failed(bool second) const;
  [[nodiscard]] std::vector<base::NodeId> nodes_of(const std::vector<Machine>& machines) const;

  std::vector<base::NodeId> machines_;  // by Machine
  std::uint32_t m_ = 0, n_ = 0;
  bool is_vote_ = false;  // all machines form one group
  bool is_second_ = false;  // the vertical groups run
  std::vector<std::uint32_t> wave_, lacking_;  // groups by number: now, and later in the phase
  std::vector<Outcome> first_, second_;  // by group, of the two phases
  std::vector<base::NodeId> named_;
  std::vector<std::string> evidence_;  // of groups that did not pass
};

}  // namespace robustrun::supervisor
