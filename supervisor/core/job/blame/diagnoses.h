#pragma once
// Takes the driver's diagnoses of workers that wait for each other or are slow (types/diagnosis.h):
// decides what is reported, and what is done.

#include "supervisor/core/fault/fault.h"
#include "supervisor/core/fault/hang_places.h"
#include "supervisor/core/job/blame/early_ends.h"
#include "supervisor/core/job/blame/slow_machines.h"
#include "supervisor/core/job/facts/group.h"
#include "supervisor/core/job/facts/orders.h"
#include "supervisor/core/job/facts/transitions.h"
#include "supervisor/core/job/facts/workers.h"
#include "supervisor/core/types/job_spec.h"

namespace robustrun::supervisor {

class Diagnoses {
 public:
  Diagnoses(Orders& orders, const JobSpec& spec, const Group& group, const Workers& workers,
            EarlyEnds& early_ends, SlowMachines& slow, Transitions& moves)
      : orders_(orders),
        spec_(spec),
        group_(group),
        workers_(workers),
        early_ends_(early_ends),
        slow_(slow),
        moves_(moves) {}

  void diagnosed(const Event& event);
  // `verdict`: from what the workers called last. If they called different collectives, these
  // explain the outage: the rank that called another one is to blame, not the one that failed.
  // Otherwise names the operation in which the others waited for a worker that ended early.
  void explain(Outage& outage, const tracer::Verdict& verdict);
  // `amount`: time of progress since the last call.
  void note_progress(base::Nanos amount) { places_.note_progress(amount, spec_.restart.window); }
  void forget_all() { places_.forget_all(); }  // the attempt has another version of the run

  template <class V>
  void fields(V& v) {
    v(80, "hang_places", places_);
  }

 private:
  void suspect(const Diagnosed& what);
  void convict(const tracer::Verdict& verdict);
  void end_lingering(const tracer::Verdict& verdict);

  Orders& orders_;
  const JobSpec& spec_;
  const Group& group_;
  const Workers& workers_;
  EarlyEnds& early_ends_;
  SlowMachines& slow_;
  Transitions& moves_;
  HangPlaces places_;
};

}  // namespace robustrun::supervisor
