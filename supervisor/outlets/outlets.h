#pragma once
// What a run tells other programs while it goes on: metrics over HTTP and in a file, events as
// lines of JSON, incidents to a command.
//
// Made before anything of the run, so that what cannot be opened is said in time; owned by
// run_job, fed by the driver on its loop. None of them can hold the run up or end it: what does not
// take what it is told misses it, and the log says so. Only the end waits, and not for long
// (outlet_limits.h).

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "supervisor/core/job/job.h"
#include "supervisor/core/status/status.h"
#include "supervisor/outlet_plan.h"

namespace robustrun::supervisor {

class Outlets {
 public:
  // Null when the plan has none. `is_resumed`: the run goes on; what cannot be opened any more is
  // done without, after a warning.
  static base::Result<std::unique_ptr<Outlets>> open(boost::asio::any_io_executor executor,
                                                     const base::Clock& clock,
                                                     const OutletPlan& plan, bool is_resumed);
  virtual ~Outlets() = default;
  // Of another supervisor's journal: counts, and is not told again.
  virtual void catch_up(const JournalEntry& entry) = 0;
  // As it is journaled.
  virtual void take(const JournalEntry& entry) = 0;
  virtual void take(JobState state, base::Nanos at) = 0;
  // From now on `status` can be asked, and the file is written.
  virtual void begin(std::function<RunStatus()> status) = 0;
  // All was said. `done` once, from the loop; `status` is not asked afterwards.
  virtual void end(std::function<void()> done) = 0;
};

}  // namespace robustrun::supervisor
