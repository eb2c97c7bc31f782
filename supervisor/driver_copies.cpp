// Copies in the memory of other nodes: who keeps whose, worked out elsewhere (Parts::keep_copies).

#include <utility>

#include "supervisor/driver_impl.h"
#include "supervisor/translate.h"

namespace robustrun::supervisor {

void Driver::Impl::solve_backup(const SolveBackup& action) {
  if (!parts_.keep_copies) return;  // nobody keeps anything
  parts_.keep_copies(action, [self = weak_from_this()](BackupSolved solved) {
    auto driver = self.lock();
    if (driver && !driver->finished_) driver->dispatch(std::move(solved));
  });
}

// Stands for all before; said again, before the order to start, should the agent connect again.
void Driver::Impl::place_copies(const PlaceCopies& action) {
  auto& copies = nodes_[action.node.value].copies;
  copies = to_message(action);
  send(action.node, *copies);
}

void Driver::Impl::on_report(base::NodeId node, const wire::CopiesKept& report) {
  if (auto news = copies_.take(report)) dispatch(*std::move(news), node);
}

}  // namespace robustrun::supervisor
