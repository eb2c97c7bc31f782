#pragma once
// Copies in the memory of other nodes: before the workers start, which node keeps whose; before the
// next attempt, saving the copies of lost nodes.
//
// Saves that agents have not finished when the next attempt begins do not delay it: its workers
// start, and wait only before they load or save. This wait is needed because a session that claims
// the directories ends the commits of earlier sessions (checkpoint/store/fence.h), to which these
// copies belong. Agents bound the wait, so it needs no deadline here.

#include <string>

#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/nodes.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/saves/copy_map.h"
#include "supervisor/core/job/saves/copy_orders.h"
#include "supervisor/core/job/saves/resume_point.h"

namespace robustrun::supervisor {

class Copies {
 public:
  Copies(Orders& orders, const JobSpec& spec, const Nodes& nodes, const Group& group,
         const ResumePoint& resume)
      : orders_(orders), spec_(spec), nodes_(nodes), group_(group), resume_(resume) {}

  // Handlers.
  void backup_solved(const Event& event);
  void kept(const Event& event);

  // Asks which node is to keep whose copies, unless that is known for this group.
  void ask();
  // Another attempt begins: its workers' copies belong to it.
  void begin_attempt();
  // Tells the agents where copies go, and where they come from.
  void place();
  // The node has no workers any more; its agent may still save their copies.
  void note_gone(base::NodeId node, const WorkersGone& gone);
  // The node's agent is gone, with what it kept.
  void lose(base::NodeId node) { map_.lose(node); }

  // Orders keepers to save the copies of nodes that are gone, or that take no part any more and may
  // not have saved them all. No worker may run: then it is known which nodes are gone.
  void save_held();
  void repeat_saves();  // the open orders
  // An answer to such an order; false: none waits for it.
  bool take_saved(const Event& event);
  // A save that was going on is over; false: known already.
  bool note_save_over(const Event& event) { return map_.take(body<SavingOver>(event), event.node); }
  void give_up_on(base::NodeId keeper);  // it is lost, too
  void end_saving();  // without the answers that are still open
  // Answers are open.
  [[nodiscard]] bool is_saving() const { return map_.is_saving(); }
  // A node that takes no part any more saves its own copies.
  [[nodiscard]] bool is_leaver_saving() const;
  // An agent died while it saved: see save_held().
  [[nodiscard]] bool is_cut_off() const { return map_.is_cut_off; }

  // The attempt's workers wait for saves that still go on, before they load.
  [[nodiscard]] bool are_awaited() const { return map_.is_awaited; }
  // True once, when these saves are over.
  bool end_wait();

  // Why a machine should not be taken from the job just now; empty: it may be.
  [[nodiscard]] std::string unsecured_in_words() const;

  template <class V>
  void fields(V& v) {
    v(73, "copies", map_);
  }

 private:
  [[nodiscard]] CopyFacts facts() const {
    return {orders_.attempt(), spec_, nodes_, group_, map_, resume_};
  }
  void say_keepers();
  void say_saved();

  Orders& orders_;
  const JobSpec& spec_;
  const Nodes& nodes_;
  const Group& group_;
  const ResumePoint& resume_;
  CopyMap map_;
};

}  // namespace robustrun::supervisor
