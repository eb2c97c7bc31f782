// Copies in the memory of other nodes; Parts::keep_copies computes which node keeps whose.

#include <utility>

#include "supervisor/driver/impl.h"
#include "supervisor/driver/translate.h"

namespace robustrun::supervisor {

void Driver::Impl::solve_backup(const SolveBackup& action) {
  if (!parts_.keep_copies) return;  // no copies are kept
  parts_.keep_copies(action, [self = weak_from_this()](BackupSolved solved) {
    auto driver = self.lock();
    if (driver && !driver->finished_) driver->dispatch(std::move(solved));
  });
}

// Replaces all orders before; repeated before the start order when the agent reconnects.
void Driver::Impl::place_copies(const PlaceCopies& action) {
  auto& copies = nodes_[action.node.value].copies;
  copies = to_message(action);
  if (request_.network.copies_rate > 0) copies->rate = request_.network.copies_rate;
  send(action.node, *copies);
}

void Driver::Impl::on_report(base::NodeId node, const wire::CopiesKept& report) {
  copy_rounds_.take(report, parts_.clock.now());
  begin_copy_round();
  if (auto news = copies_.take(report)) dispatch(*std::move(news), node);
}

void Driver::Impl::begin_copy_round() {
  if (const auto round = copy_rounds_.next(parts_.clock.now())) {
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].ranks.empty()) send(base::NodeId{i}, *round);
    }
  }
  const auto at = copy_rounds_.next_at();
  const base::Nanos now = parts_.clock.now();
  if (!at || *at <= now) return;  // reports will come before
  copies_timer_.expires_after(*at - now);
  copies_timer_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
    const auto driver = error ? nullptr : self.lock();
    if (driver && !driver->finished_) driver->begin_copy_round();
  });
}

}  // namespace robustrun::supervisor
