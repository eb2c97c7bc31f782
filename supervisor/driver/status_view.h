#pragma once
// Makes the status of the run from the journal's entries, the agents' newest reports, and the state
// of their connections.
//
// Owned by the driver, on its loop. Only reads the other parts.

#include <optional>

#include "base/core/clock.h"
#include "supervisor/agents/node_table.h"
#include "supervisor/core/job/job.h"
#include "supervisor/core/status/status.h"
#include "supervisor/driver/group_progress.h"
#include "supervisor/driver/run_record.h"
#include "supervisor/group/node_racks.h"
#include "supervisor/run_request.h"
#include "supervisor/watch/bandwidth_watch.h"
#include "supervisor/watch/group_wait_watch.h"

namespace robustrun::supervisor {

class StatusView {
 public:
  // All outlive this object.
  struct Sources {
    const RunRequest& request;
    const Job& job;
    const RunRecord& record;
    const NodeTable& nodes;
    const GroupProgress& progress;
    const BandwidthWatch& bandwidth;
  };
  StatusView(const base::Clock& clock, const Sources& sources);

  [[nodiscard]] RunStatus status() const;
  void begin_attempt() { group_wait_watch_.begin_attempt(clock_.now()); }
  // Logs once per attempt that ranks have been waiting for others in init_process_group for a long
  // time. To be called several times a second.
  void watch_group_wait();

 private:
  [[nodiscard]] NodeStatus node_status(NodeStatus known, const NodeLink& link) const;
  void note_stage(const NodeLink& link, NodeStatus& known) const;
  void note_steps_of_ranks(RunStatus& status) const;
  [[nodiscard]] bool is_up_or_starting() const;

  const base::Clock& clock_;
  const Sources of_;
  const NodeRacks racks_;
  GroupWaitWatch group_wait_watch_;
};

}  // namespace robustrun::supervisor
