// Which node gets which place: asked by the core, worked out elsewhere (Parts::place).

#include <utility>

#include "supervisor/driver/impl.h"

namespace robustrun::supervisor {

void Driver::Impl::solve_placement(const SolvePlacement& action) {
  if (!parts_.place) {
    return dispatch(PlacementSolved{action.digest, {}, "no topology is known any more", {}, {}});
  }
  parts_.place(action, [self = weak_from_this()](PlacementSolved solved) {
    auto driver = self.lock();
    if (driver && !driver->finished_) driver->dispatch(std::move(solved));
  });
}

}  // namespace robustrun::supervisor
