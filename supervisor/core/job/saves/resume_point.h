#pragma once
// The checkpoint that the attempt resumed from, and whether it leads to failures. Pure; part of the
// job's memory.
//
// A complete checkpoint may still be bad: saved after the numbers went wrong, or in a state that
// the script cannot continue from. This shows only after a resume. If the job fails soon after a
// resume, too often, and not because of a machine, then the checkpoint is demoted: it is marked, so
// that the next attempt uses the next older one. SCR (the Scalable Checkpoint/Restart library) does
// the same after a failed restart.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/ids.h"
#include "supervisor/core/types/checkpoint_events.h"

namespace robustrun::supervisor {

class ResumePoint {
 public:
  // Another attempt begins: nothing is loaded yet.
  void begin_attempt();
  // Takes a load or a commit. True for a load of another checkpoint than loaded(), which is worth a
  // report.
  bool take(const CheckpointNoted& noted, base::NodeId node);

  // The last checkpoint that this attempt loaded. None: it began anew, or reported none.
  [[nodiscard]] const std::optional<CheckpointId>& loaded() const { return loaded_; }
  // The checkpoint that was committed last, in this attempt or an earlier one.
  [[nodiscard]] const std::optional<CheckpointId>& committed() const { return committed_; }
  // Failures soon after a resume from loaded(), so far.
  [[nodiscard]] std::uint32_t failures() const;
  [[nodiscard]] const std::vector<std::string>& directories() const { return directories_; }
  // The node that reported the load. It can reach the directories.
  [[nodiscard]] base::NodeId node() const { return node_; }
  // Whether this checkpoint was demoted. Failures after a resume from it are then not counted.
  [[nodiscard]] bool is_demoted(const CheckpointId& id) const;

  void count_failure();  // against loaded()
  // Marks loaded() as demoted, and gives the order a new number, order(). The caller sends the
  // order to the agent of `asked`.
  void begin_demotion(base::NodeId asked);
  // Whether the answer to order() is awaited.
  [[nodiscard]] bool is_demoting() const { return demoting_; }
  // The answer has come, or is not awaited any more. If not `is_marked`, the checkpoint may be
  // used, and demoted, again. False: the answer is not to the newest order.
  bool end_demotion(std::uint64_t order, bool is_marked);
  // Of the newest demotion: the number of the order, the node, and (while is_demoting()) the
  // checkpoint.
  [[nodiscard]] std::uint64_t order() const { return order_; }
  [[nodiscard]] base::NodeId asked() const { return asked_; }
  [[nodiscard]] const CheckpointId& demoting() const { return records_.front().id; }

  template <class V>
  void fields(V& v) {
    v(1, "loaded", loaded_);
    v(2, "directories", directories_);
    v(3, "node", node_);
    v(4, "committed", committed_);
    v(5, "records", records_);
    v(6, "order", order_);
    v(7, "demoting", demoting_);
    v(8, "asked", asked_);
  }

 private:
  struct Record {
    CheckpointId id;
    std::uint32_t failures = 0;
    bool demoted = false;
    template <class V>
    void fields(V& v) {
      v(1, "id", id);
      v(2, "failures", failures);
      v(3, "demoted", demoted);
    }
  };
  [[nodiscard]] const Record* find(const CheckpointId& id) const;
  Record& record();  // of loaded(); moves it to the front

  std::optional<CheckpointId> loaded_;
  std::vector<std::string> directories_;
  base::NodeId node_;
  std::optional<CheckpointId> committed_;
  std::vector<Record> records_;  // the newest failure first, at most kSuspectCheckpointsMax
  std::uint64_t order_ = 0;
  bool demoting_ = false;
  base::NodeId asked_;
};

// "step 1000 (g7-3f9c)"
[[nodiscard]] std::string in_words(const CheckpointId& id);

}  // namespace robustrun::supervisor
