#pragma once
// A run's output for other programs: metrics over HTTP and in a file, events as lines of JSON,
// incidents and bad nodes to commands; and notices for people.
//
// Opened before the run begins, so that errors are reported in time. Owned by run_job; the driver
// passes in entries on its loop. No outlet can delay or end the run: a slow consumer loses data,
// which is logged. Only the end of the run waits for outlets, for a bounded time (limits.h).

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "supervisor/core/job/job.h"
#include "supervisor/core/status/status.h"
#include "supervisor/outlet_plan.h"

namespace robustrun::supervisor {

class Outlets {
 public:
  // Null if the plan has no outlets. `is_resumed`: the run was taken over; outlets that cannot be
  // opened are then left out with a warning.
  static base::Result<std::unique_ptr<Outlets>> open(boost::asio::any_io_executor executor,
                                                     const base::Clock& clock,
                                                     const OutletPlan& plan, bool is_resumed);
  virtual ~Outlets() = default;
  // "http://10.0.0.1:9100/metrics"; empty: metrics are not served.
  [[nodiscard]] virtual std::string metrics_url() const = 0;
  // Takes the journal of the former supervisor: its entries count, but are not published again.
  virtual void catch_up(const std::vector<JournalEntry>& entries) = 0;
  // An entry that is being journaled.
  virtual void take(const JournalEntry& entry) = 0;
  virtual void take(JobState state, base::Nanos at) = 0;
  // `status` can be called from now on, and the metrics file is written.
  virtual void begin(std::function<RunStatus()> status) = 0;
  // The run is over. Calls `done` once, from the loop; `status` is not called afterwards.
  virtual void end(std::function<void()> done) = 0;
};

}  // namespace robustrun::supervisor
