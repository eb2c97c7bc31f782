#pragma once
// The checkpoint that the workers resume from: what they report of it, and what follows when it
// leads to failures.

#include "supervisor/core/fault/fault.h"
#include "supervisor/core/job/facts/attempt_progress.h"
#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/saves/resume_point.h"

namespace robustrun::supervisor {

class Checkpoints {
 public:
  Checkpoints(Orders& orders, const JobSpec& spec, const Nodes& nodes, const Group& group,
              const AttemptProgress& progress)
      : orders_(orders), spec_(spec), nodes_(nodes), group_(group), progress_(progress) {}

  void noted(const Event& event);
  void begin_attempt() { resume_.begin_attempt(); }
  [[nodiscard]] const ResumePoint& resume_point() const { return resume_; }

  // Whether the checkpoint is set aside after this outage. A metric fault (Rule::kMetricFault) is
  // enough, as the wrong numbers are in the checkpoint already. Otherwise it takes
  // Policy::poison_after failures.
  [[nodiscard]] bool blames(const Outage& outage) const;
  // Counts the outage against the checkpoint if the checkpoint may be the cause, and orders to set
  // it aside if blames().
  // The next attempt waits in kBackoff for the answer.
  void judge(const Outage& outage);
  [[nodiscard]] bool is_demoting() const { return resume_.is_demoting(); }
  void repeat_demotion() { orders_.give(demotion_order()); }
  // Takes the answer. False: it does not answer the newest order.
  bool take_demoted(const Event& event);
  void end_demotion();  // without an answer: the checkpoint may be used again

  template <class V>
  void fields(V& v) {
    v(70, "resume", resume_);
  }

 private:
  [[nodiscard]] bool may_blame(const Outage& outage) const;
  [[nodiscard]] DemoteCheckpoint demotion_order() const;

  Orders& orders_;
  const JobSpec& spec_;
  const Nodes& nodes_;
  const Group& group_;
  const AttemptProgress& progress_;
  ResumePoint resume_;
};

}  // namespace robustrun::supervisor
