#include "supervisor/core/types/obstacle.h"

#include <fmt/core.h>

namespace robustrun::supervisor {

std::string in_words(const Obstacle& obstacle) {
  using Kind = Obstacle::Kind;
  switch (obstacle.kind) {
    case Kind::kNone: return "";
    case Kind::kNoSuspect: return "no machine is known to blame";
    case Kind::kTooFewMachines:
      return fmt::format("{} other machine{} there, and {} {} needed", obstacle.left,
                         obstacle.left == 1 ? " is" : "s are", obstacle.needed,
                         obstacle.needed == 1 ? "is" : "are");
    case Kind::kNotTheMachine: return "the machine is not to blame";
    case Kind::kWorkersFinished: return "some workers have finished already";
    case Kind::kNothingToCompare: return "there is no other machine to compare with";
    case Kind::kTooFewToReplay:
      return fmt::format(
          "{} machines are too few: groups of {} take at least {} of them to tell one from another",
          obstacle.left, obstacle.unit, obstacle.needed);
    case Kind::kNotUpdated: return "the run was not updated";
    case Kind::kOtherVersionNext: return "another version is used anyway";
    case Kind::kNoOlderVersion: return "no older version has worked";
  }
  return "";
}

}  // namespace robustrun::supervisor
