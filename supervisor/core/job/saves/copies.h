#pragma once
// Copies of workers' states in the memory of other nodes. Before the workers start: which node
// keeps whose copies. Before the next attempt, and when the run ends: the copies of lost nodes are
// saved.
//
// Saves that agents have not finished when the next attempt begins do not delay it: its workers
// start, and wait only before they load or save. They must wait, because an attempt that claims the
// checkpoint directories makes commits of earlier attempts fail (checkpoint/store/fence.h), and
// these copies belong to an earlier attempt. Agents bound the wait, so it needs no deadline here.

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
  // An attempt begins. Sends the new routes of copies, and makes the workers wait if saves still go
  // on.
  void begin_attempt();
  // Sends the routes: where copies go, and where they come from.
  void place();
  // The node has no workers any more; its agent may still save their copies.
  void note_gone(base::NodeId node, const WorkersGone& gone);
  // The node's agent is gone, with the copies that it kept.
  void lose(base::NodeId node) { map_.lose(node); }

  // Orders keepers to save the copies of nodes that are lost, or that take no part any more and are
  // not saving them. Requires that no worker runs: only then is it known which nodes are lost.
  void save_held();
  void repeat_saves();  // gives the open orders again
  // Takes the answer to a SaveHeldCopies order. False: no order waits for it.
  bool take_saved(const Event& event);
  // An agent's save, which went on after its attempt, is over. False: no such save is known.
  bool note_save_over(const Event& event) { return map_.take(body<SavingOver>(event), event.node); }
  void give_up_on(base::NodeId keeper);  // the keeper is lost, too
  void end_saving();  // answers that are still open are not awaited any more
  // Whether answers to SaveHeldCopies orders are awaited.
  [[nodiscard]] bool is_saving() const { return map_.is_saving(); }
  // Whether a node that takes no part any more is saving its own copies.
  [[nodiscard]] bool is_leaver_saving() const;
  // Whether an agent died while it saved copies: then save_held() must be called again.
  [[nodiscard]] bool is_cut_off() const { return map_.is_cut_off; }

  // Whether the attempt's workers wait, before they load, for saves that still go on.
  [[nodiscard]] bool are_awaited() const { return map_.is_awaited; }
  // True once, when the saves that workers wait for are over.
  bool end_wait();

  // Why no machine should be taken from the job now: some ranks have no copy on another node.
  // Empty: a machine may be taken.
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
