#include "supervisor/driver/worker_looks.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/io/log.h"
#include "supervisor/console/rank_layout.h"
#include "supervisor/limits.h"
#include "tracer/analysis/last_words.h"

namespace robustrun::supervisor {
namespace {

using base::Errc;

RankUse use_of(const tracer::Evidence& evidence) {
  const tracer::ProcessState& process = evidence.process;
  RankUse use{0, process.memory_bytes, evidence.gpus};
  if (process.watched > base::Nanos{}) {
    use.processors =
        static_cast<double>(process.cpu.count()) / static_cast<double>(process.watched.count());
  }
  return use;
}

std::unexpected<base::Error> no_such_rank() {
  return base::fail(Errc::kUnavailable, "no such rank is running at the moment");
}

std::unexpected<base::Error> too_many_looks() {
  return base::fail(Errc::kLimit, "too many ranks are being looked at");
}

}  // namespace

WorkerLooks::WorkerLooks(boost::asio::any_io_executor executor, NodeTable& nodes, Hands hands)
    : executor_(std::move(executor)), nodes_(nodes), hands_(std::move(hands)) {}

void WorkerLooks::look(bool evidence, Done done) {
  waiters_.push_back({evidence, std::move(done)});
  if (waiters_.size() == 1) begin(evidence);
}

void WorkerLooks::begin(bool evidence) {
  has_evidence_ = evidence;
  is_due_ = true;
  begin_next();
}

void WorkerLooks::begin_next() {
  while (!look_ && !is_at_stacks_) {
    if (std::exchange(is_due_, false)) {
      begin_look();
    } else if (!stacks_wanted_.empty()) {
      StacksWanted next = std::move(stacks_wanted_.front());
      stacks_wanted_.pop_front();
      begin_at_stacks(std::move(next));
    } else {
      return;
    }
  }
}

void WorkerLooks::begin_look() {
  Observation::Plan asked = plan({++looks_begun_, hands_.attempt(), has_evidence_, kObserveWithin});
  // NCCL asks all processes of the job: one node is enough, another one next time.
  if (has_evidence_ && !asked.nodes.empty()) {
    asked.ras = asked.nodes[looks_begun_ % asked.nodes.size()].node;
  }
  look_ = Observation::begin(executor_, std::move(asked),
                             hands_of([this](tracer::FleetSnapshot fleet, wire::RasAnswer ras) {
                               analyze(std::move(fleet), std::move(ras));
                             }));
}

Observation::Plan WorkerLooks::plan(wire::Observe question) const {
  Observation::Plan made;
  made.question = question;
  nodes_.each([&](base::NodeId node, const NodeLink& link) {
    if (link.ranks.empty()) return;
    made.world_size += static_cast<std::uint32_t>(link.ranks.size());
    if (!link.lost) made.nodes.push_back({node, nodes_.name(node), link.ranks});
  });
  return made;
}

Observation::Hands WorkerLooks::hands_of(
    std::function<void(tracer::FleetSnapshot, wire::RasAnswer)> done) {
  Observation::Hands made;
  made.send = [this](base::NodeId node, const wire::Message& message) {
    nodes_.send(node, message);
  };
  made.done = std::move(done);
  return made;
}

void WorkerLooks::analyze(tracer::FleetSnapshot fleet, wire::RasAnswer ras) {
  look_.reset();
  begin_next();
  if (!hands_.analyze || ended_) return answer(nullptr);
  fleet.layout = rank_layout(hands_.parallel, fleet.world_size);
  tracer::RasEvidence said{std::move(ras.report), ras.is_shared, {}};
  if (!said.report.empty()) said.unseen = unseen(fleet);
  hands_.analyze(std::move(fleet), std::move(said),
                 [this, alive = std::weak_ptr(alive_)](const tracer::Verdict& verdict) {
                   if (!alive.expired()) answer(&verdict);
                 });
}

void WorkerLooks::answer(const tracer::Verdict* verdict) {
  const bool with_evidence = has_evidence_;
  std::vector<Waiter> waiters = std::exchange(waiters_, {});
  const auto answered = std::ranges::stable_partition(waiters, [&](const Waiter& one) {
    return one.evidence && !with_evidence && verdict != nullptr;
  });
  std::vector<Waiter> done(std::make_move_iterator(answered.begin()),
                           std::make_move_iterator(answered.end()));
  waiters.erase(answered.begin(), answered.end());
  waiters_ = std::move(waiters);
  if (!waiters_.empty()) begin(true);
  for (const Waiter& one : done) one.done(verdict);
}

void WorkerLooks::look_back(const LookBack& action, std::function<void(tracer::Verdict)> done) {
  const auto tell = [this, alive = std::weak_ptr(alive_), failed = action.failed,
                     words = action.words, done = std::move(done)](tracer::Verdict verdict) {
    if (alive.expired() || ended_) return;
    if (verdict.finding != tracer::Finding::kMismatch) {
      auto said = tracer::mismatch_in_words(unseen({}), failed, words);
      if (said) verdict = *std::move(said);
    }
    RR_LOG(kDebug, {}, "a look back: {} {}", to_string(verdict.finding), verdict.sentence);
    done(std::move(verdict));
  };
  if (!hands_.analyze_failed) return tell({});
  if (look_back_) look_back_->drop();
  look_back_ = Observation::begin(
      executor_, plan({++looks_begun_, action.attempt, false, kLookBackWithin}),
      hands_of([this, tell](tracer::FleetSnapshot fleet, const wire::RasAnswer&) {
        look_back_.reset();
        fleet.layout = rank_layout(hands_.parallel, fleet.world_size);
        hands_.analyze_failed(std::move(fleet), tell);
      }));
}

const Observation::Node* WorkerLooks::keep_node_of(base::Rank rank,
                                                   Observation::Plan& asked) const {
  std::erase_if(asked.nodes, [rank](const Observation::Node& node) {
    return std::ranges::find(node.ranks, rank) == node.ranks.end();
  });
  return asked.nodes.empty() ? nullptr : &asked.nodes.front();
}

void WorkerLooks::begin_for_user(Observation::Plan asked,
                                 std::function<void(tracer::FleetSnapshot)> done) {
  const auto own = std::make_shared<std::weak_ptr<Observation>>();
  auto look = Observation::begin(executor_, std::move(asked),
                                 hands_of([this, own, done = std::move(done)](
                                              tracer::FleetSnapshot fleet, const wire::RasAnswer&) {
                                   const auto over = own->lock();
                                   std::erase(user_looks_, over);
                                   done(std::move(fleet));
                                 }));
  *own = look;
  user_looks_.push_back(std::move(look));
}

void WorkerLooks::look_at_use(base::Rank rank, UseAnswer done) {
  Observation::Plan asked =
      plan({++looks_begun_, hands_.attempt(), false, kObserveWithin, false, base::LocalRank{}});
  const Observation::Node* const node = keep_node_of(rank, asked);
  if (!hands_.is_running() || node == nullptr) return done(no_such_rank());
  if (user_looks_.size() >= kUseLooksMax) return done(too_many_looks());
  asked.question.use_of = base::LocalRank{
      static_cast<std::uint32_t>(std::ranges::find(node->ranks, rank) - node->ranks.begin())};
  begin_for_user(std::move(asked), [done = std::move(done)](const tracer::FleetSnapshot& fleet) {
    const bool is_known = !fleet.ranks.empty() && fleet.ranks.front().evidence.has_process;
    done(is_known ? base::Result<RankUse>(use_of(fleet.ranks.front().evidence))
                  : base::fail(Errc::kUnavailable, "its node does not tell"));
  });
}

void WorkerLooks::look_at_stacks(std::optional<base::Rank> rank, StacksAnswer done) {
  if (stacks_wanted_.size() >= kStacksWaitingMax) return done(too_many_looks());
  stacks_wanted_.push_back({rank, std::move(done)});
  begin_next();
}

void WorkerLooks::begin_at_stacks(StacksWanted wanted) {
  Observation::Plan asked = plan({++looks_begun_, hands_.attempt(), true, kObserveWithin});
  const std::optional<base::Rank> rank = wanted.rank;
  const bool is_there = rank ? keep_node_of(*rank, asked) != nullptr : !asked.nodes.empty();
  if (!hands_.is_running() || !is_there) return wanted.done(no_such_rank());
  is_at_stacks_ = true;
  begin_for_user(
      std::move(asked), [this, rank, done = std::move(wanted.done)](tracer::FleetSnapshot fleet) {
        is_at_stacks_ = false;
        begin_next();
        if (rank) {
          std::erase_if(fleet.ranks,
                        [&](const tracer::RankSnapshot& one) { return one.rank != *rank; });
        }
        done(fleet.ranks.empty() ? base::fail(Errc::kUnavailable, "no node answers")
                                 : base::Result<WorkerStacks>(stacks_of(fleet)));
      });
}

std::vector<tracer::RankSnapshot> WorkerLooks::unseen(const tracer::FleetSnapshot& fleet) const {
  std::vector<tracer::RankSnapshot> found;
  nodes_.each([&](base::NodeId node, const NodeLink& link) {
    for (std::uint32_t local = 0; local < link.ranks.size(); ++local) {
      tracer::RankSnapshot one;
      one.rank = link.ranks[local];
      one.node = nodes_.name(node);
      one.local_rank = {local};
      const bool is_seen =
          std::ranges::binary_search(fleet.ranks, one.rank, {}, &tracer::RankSnapshot::rank);
      if (!is_seen) found.push_back(std::move(one));
    }
  });
  std::ranges::sort(found, {}, &tracer::RankSnapshot::rank);
  return found;
}

void WorkerLooks::on_report(base::NodeId node, const wire::Observed& report) {
  for (const auto& look : {look_, look_back_}) {
    if (look) look->on_report(node, report);
  }
  for (const auto& look : std::vector(user_looks_)) look->on_report(node, report);
}

void WorkerLooks::on_report(base::NodeId node, wire::RasAnswer& answer) {
  if (const auto look = look_) look->on_report(node, std::move(answer));
}

void WorkerLooks::on_agent_lost(base::NodeId node) {
  for (const auto& look : {look_, look_back_}) {
    if (look) look->on_agent_lost(node);
  }
  for (const auto& look : std::vector(user_looks_)) look->on_agent_lost(node);
}

void WorkerLooks::drop() {
  alive_.reset();
  is_due_ = is_at_stacks_ = false;
  stacks_wanted_.clear();
  for (auto* look : {&look_, &look_back_}) {
    if (*look) std::exchange(*look, nullptr)->drop();
  }
  for (const auto& look : std::exchange(user_looks_, {})) look->drop();
}

}  // namespace robustrun::supervisor
