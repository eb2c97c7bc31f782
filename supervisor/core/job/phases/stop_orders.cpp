#include "supervisor/core/job/phases/stop_orders.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/core/words.h"

namespace robustrun::supervisor {
namespace {

constexpr std::size_t kRanksNamed = 8;

// "rank 3", "ranks 0, 1 and 2", "ranks 0, 1, … 7 and 5 more"
std::string in_words(const std::vector<base::Rank>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  const std::size_t named = std::min(ranks.size(), kRanksNamed);
  for (std::size_t i = 0; i < named; ++i) {
    const bool is_last = i + 1 == ranks.size();
    const char* const before = i == 0 ? "" : is_last ? " and " : ", ";
    text += fmt::format("{}{}", before, ranks[i].value);
  }
  if (named < ranks.size()) text += fmt::format(" and {} more", ranks.size() - named);
  return text;
}

}  // namespace

void StopOrders::kill_at(base::Nanos at) {
  began_ = orders_.now();
  kill_at_ = at;
  kills_at_once_ = at <= began_;
  killed_.clear();
}

void StopOrders::note_exit(const WorkerExited& exited) {
  const bool is_killed = exited.stopped_by_us && exited.kind == base::ExitStatus::Kind::kSignaled &&
                         exited.code == SIGKILL;
  if (!is_killed || kills_at_once_ || orders_.now() < kill_at_) return;
  const auto place = std::ranges::lower_bound(killed_, exited.rank);
  if (place == killed_.end() || *place != exited.rank) killed_.insert(place, exited.rank);
}

void StopOrders::tell_killed() {
  const std::vector<base::Rank> killed = std::exchange(killed_, {});
  if (killed.empty()) return;
  orders_.decide(Rule::kKilled, fmt::format("{} had not ended after {}, and {} killed",
                                            in_words(killed), base::in_seconds(kill_at_ - began_),
                                            killed.size() == 1 ? "was" : "were"));
}

bool StopOrders::hasten(base::Nanos at) {
  if (at >= kill_at_) return false;
  kill_at_ = at;
  kills_at_once_ = kills_at_once_ || at <= orders_.now();
  return true;
}

base::Nanos StopOrders::left() const { return std::max(base::Nanos{}, kill_at_ - orders_.now()); }

void StopOrders::send(int signal, StopReason reason) {
  const base::Nanos grace = left();
  orders_.reserve(workers_.running_nodes() + 1);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].gone) continue;
    orders_.give(
        StopWorkers{base::NodeId{i}, orders_.attempt(), signal, grace, reason, save_first_});
  }
}

void StopOrders::arm() {
  orders_.set_timer(TimerId::kState, kill_at_ + spec_.deadlines.kill_margin);
}

}  // namespace robustrun::supervisor
