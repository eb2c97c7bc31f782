#pragma once
// The observers besides invariants.h, and state of broken drivers.

#include "tests/sim/lies.h"
#include "tests/sim/scenario.h"
#include "tests/sim/shadow.h"
#include "tests/sim/watch/budget.h"
#include "tests/sim/watch/calm.h"
#include "tests/sim/watch/incident.h"

namespace robustrun::sim {

struct Watches {
  // `scenario` must outlive this.
  Watches(const Scenario& scenario, Mutation mutation)
      : incidents(scenario.spec),
        budgets(scenario.spec),
        calm(scenario.spec),
        shadow(scenario.seed, mutation) {}

  IncidentWatch incidents;
  BudgetWatch budgets;
  CalmWatch calm;
  Shadow shadow;
  EvictedSeat seat;
};

}  // namespace robustrun::sim
