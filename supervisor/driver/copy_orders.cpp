#include "supervisor/driver/copy_orders.h"

#include <utility>

#include "supervisor/driver/translate.h"

namespace robustrun::supervisor {

CopyOrders::CopyOrders(const boost::asio::any_io_executor& executor, const base::Clock& clock,
                       NodeTable& nodes, Plan plan)
    : clock_(clock), nodes_(nodes), plan_(std::move(plan)), timer_(executor) {}

void CopyOrders::begin_attempt(base::Attempt attempt, std::uint32_t world_size) {
  watch_.begin_attempt(attempt, world_size);
  rounds_.begin_attempt(attempt, world_size);
}

void CopyOrders::place(const PlaceCopies& action) {
  auto& copies = nodes_[action.node].copies;
  copies = to_message(action);
  if (plan_.rate > 0) copies->rate = plan_.rate;
  nodes_.send(action.node, *copies);
}

void CopyOrders::on_report(base::NodeId node, const wire::CopiesKept& report) {
  rounds_.take(report, clock_.now());
  begin_round();
  if (auto news = watch_.take(report)) plan_.on_news(*std::move(news), node);
}

void CopyOrders::on_connected_again(base::NodeId node) {
  const auto& round = rounds_.order();
  if (round && !nodes_[node].ranks.empty()) nodes_.send(node, *round);
}

void CopyOrders::begin_round() {
  if (const auto round = rounds_.next(clock_.now())) nodes_.send_to_group(*round);
  const auto at = rounds_.next_at();
  const base::Nanos now = clock_.now();
  if (!at || *at <= now) return;  // reports will come before
  timer_.after(*at - now, [this] { begin_round(); });
}

}  // namespace robustrun::supervisor
