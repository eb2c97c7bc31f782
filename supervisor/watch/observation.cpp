#include "supervisor/watch/observation.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <utility>

#include "base/core/text.h"
#include "base/io/log.h"
#include "supervisor/limits.h"
#include "wire/messages/field_codec.h"

namespace robustrun::supervisor {
namespace {

namespace asio = boost::asio;

class ObservationImpl final : public Observation,
                              public std::enable_shared_from_this<ObservationImpl> {
 public:
  ObservationImpl(const asio::any_io_executor& executor, Plan plan, Hands hands)
      : plan_(std::move(plan)), hands_(std::move(hands)), deadline_(executor) {
    for (const Node& node : plan_.nodes) {
      awaited_ += plan_.question.use_of ? 1 : node.ranks.size();
    }
    if (plan_.ras) ++awaited_;
  }

  void ask() {
    deadline_.expires_after(plan_.question.within + kObserveMargin);
    deadline_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
      auto observation = error ? nullptr : self.lock();
      if (observation) observation->finish();
    });
    for (const Node& node : plan_.nodes) {
      wire::Observe question = plan_.question;
      question.ras = plan_.ras == node.node;
      hands_.send(node.node, question);
    }
    if (awaited_ == 0) finish();
  }

  void on_report(base::NodeId id, const wire::Observed& report) override {
    if (report.number != plan_.question.number || report.attempt != plan_.question.attempt) return;
    const Node* node = find(id);
    if (node == nullptr || report.local_rank.value >= node->ranks.size()) return;
    const base::Rank rank = node->ranks[report.local_rank.value];
    if (answers_.contains(rank)) return;
    auto snapshot = decoded(report);
    snapshot.rank = rank;
    snapshot.node = node->name;
    snapshot.local_rank = report.local_rank;
    answers_.emplace(rank, std::move(snapshot));
    if (--awaited_ == 0) finish();
  }

  void on_report(base::NodeId id, wire::RasAnswer answer) override {
    if (answer.number != plan_.question.number || answer.attempt != plan_.question.attempt) return;
    if (plan_.ras != id) return;
    if (!answer.missing.empty()) {
      RR_LOG(kDebug, {}, "a look at the workers: {}", base::printable(answer.missing));
    }
    ras_ = std::move(answer);
    end_ras();
  }

  void on_agent_lost(base::NodeId id) override {
    if (plan_.ras == id) end_ras();
    const Node* node = find(id);
    if (node == nullptr) return;
    if (plan_.question.use_of) return finish();
    for (const base::Rank rank : node->ranks) {
      tracer::RankSnapshot dead;
      dead.rank = rank;
      dead.node = node->name;
      dead.life = tracer::Life::kDead;
      dead.end = "its node is lost";
      if (answers_.emplace(rank, std::move(dead)).second) --awaited_;
    }
    if (awaited_ == 0) finish();
  }

  void drop() override {
    deadline_.cancel();
    hands_.done = nullptr;
  }

 private:
  // Nothing more of it is waited for.
  void end_ras() {
    plan_.ras.reset();
    if (--awaited_ == 0) finish();
  }

  [[nodiscard]] const Node* find(base::NodeId id) const {
    const auto found = std::ranges::find(plan_.nodes, id, &Node::node);
    return found == plan_.nodes.end() ? nullptr : &*found;
  }

  static tracer::RankSnapshot decoded(const wire::Observed& report) {
    if (report.snapshot.size() > kSnapshotBytesMax) return {};
    auto snapshot = wire::decode<tracer::RankSnapshot>(report.snapshot);
    if (!snapshot) {
      RR_LOG(kWarn, {}, "cannot use what an agent says of a worker: {}", snapshot.error().what);
      return {};
    }
    return *std::move(snapshot);
  }

  // Until the call arrives, drop() may still cancel it.
  void finish() {
    if (!hands_.done || std::exchange(is_over_, true)) return;
    deadline_.cancel();
    tracer::FleetSnapshot fleet;
    fleet.world_size = plan_.world_size;
    for (auto& [rank, snapshot] : answers_) fleet.ranks.push_back(std::move(snapshot));
    asio::post(deadline_.get_executor(), [self = shared_from_this(), fleet = std::move(fleet),
                                          ras = std::move(ras_)]() mutable {
      if (const auto done = std::exchange(self->hands_.done, nullptr)) {
        done(std::move(fleet), std::move(ras));
      }
    });
  }

  Plan plan_;
  Hands hands_;
  asio::steady_timer deadline_;
  std::map<base::Rank, tracer::RankSnapshot> answers_;
  wire::RasAnswer ras_;
  std::size_t awaited_ = 0;   // workers, and RAS
  bool is_over_ = false;      // the call of `done` is posted
};

}  // namespace

std::shared_ptr<Observation> Observation::begin(const asio::any_io_executor& executor, Plan plan,
                                                Hands hands) {
  auto observation = std::make_shared<ObservationImpl>(executor, std::move(plan), std::move(hands));
  observation->ask();
  return observation;
}

}  // namespace robustrun::supervisor
