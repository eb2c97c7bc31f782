#include "supervisor/core/fault/budget.h"

#include <doctest/doctest.h>

#include "base/core/clock.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor::budget_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

RestartPolicy policy_with(std::uint32_t max_restarts) {
  RestartPolicy policy;
  policy.max_restarts = max_restarts;
  return policy;
}

TEST_CASE("counted faults draw on max_restarts, uncounted ones on a limit in a row") {
  RestartPolicy policy = policy_with(2);
  policy.max_infrastructure_restarts = 3;
  Budget budget(policy);
  for (int i = 0; i < 3; ++i) budget.spend(FaultClass::kInfrastructure, {});
  CHECK_FALSE(budget.allows(FaultClass::kInfrastructure));
  CHECK_FALSE(budget.allows(FaultClass::kPortConflict));
  for (int i = 0; i < 2; ++i) budget.spend(FaultClass::kUser, {});
  CHECK_FALSE(budget.allows(FaultClass::kUser));
  budget.note_progress({});
  CHECK(budget.allows(FaultClass::kInfrastructure));
  CHECK_FALSE(budget.allows(FaultClass::kUser));
  CHECK_FALSE(budget.allows(FaultClass::kPermanent));
  CHECK_FALSE(Budget(policy_with(0)).allows(FaultClass::kUser));
}

TEST_CASE("a window of progress refills the budget, and says so once") {
  RestartPolicy policy = policy_with(1);
  policy.window = minutes(60);
  Budget budget(policy);
  CHECK_FALSE(budget.note_progress(minutes(500)));  // nothing was used
  budget.spend(FaultClass::kUser, {});
  CHECK_FALSE(budget.note_progress(minutes(59)));
  CHECK_FALSE(budget.note_progress(minutes(-5)));
  CHECK(budget.used() == 1);
  CHECK(budget.note_progress(minutes(1)));
  CHECK(budget.allows(FaultClass::kUser));
  CHECK_FALSE(budget.note_progress(minutes(60)));
}

TEST_CASE("the same failure before first progress is retried crash_loop_retries times") {
  Budget budget(policy_with(10));
  CHECK_FALSE(budget.is_crash_loop("A"));
  budget.spend(FaultClass::kUser, "A");
  CHECK(budget.is_crash_loop("A"));
  CHECK_FALSE(budget.is_crash_loop("B"));
  budget.spend(FaultClass::kUser, "B");
  CHECK_FALSE(budget.is_crash_loop("A"));
  CHECK(budget.is_crash_loop("B"));
  SUBCASE("an infrastructure fault in between changes nothing") {
    budget.spend(FaultClass::kInfrastructure, {});
    CHECK(budget.is_crash_loop("B"));
  }
  SUBCASE("progress in between forgives") {
    budget.note_progress({});
    CHECK_FALSE(budget.is_crash_loop("B"));
  }
  SUBCASE("an attempt that made progress before it failed forgives") {
    budget.spend(FaultClass::kUser, "");
    CHECK_FALSE(budget.is_crash_loop("B"));
  }
}

TEST_CASE("crash_loop_retries 0 stops at once, 2 allows two, and the rule can be off") {
  RestartPolicy policy = policy_with(10);
  policy.crash_loop_retries = 0;
  CHECK(Budget(policy).is_crash_loop("A"));
  policy.crash_loop_retries = 2;
  Budget budget(policy);
  budget.spend(FaultClass::kUser, "A");
  CHECK_FALSE(budget.is_crash_loop("A"));
  budget.spend(FaultClass::kUser, "A");
  CHECK(budget.is_crash_loop("A"));
  policy.crash_loop_retries = 0;
  policy.crash_loop_stop = false;
  CHECK_FALSE(Budget(policy).is_crash_loop("A"));
}

TEST_CASE("only so many port conflicts in a row are believed") {
  Budget budget(policy_with(1));
  for (std::uint32_t i = 0; i < kPortConflictsMax; ++i) {
    CHECK(budget.port_may_conflict());
    budget.spend(FaultClass::kPortConflict, {});
  }
  CHECK_FALSE(budget.port_may_conflict());
  budget.note_progress({});
  CHECK(budget.port_may_conflict());
}

}  // namespace
}  // namespace robustrun::supervisor::budget_test
