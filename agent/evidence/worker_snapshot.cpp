#include "agent/evidence/worker_snapshot.h"

#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "agent/node/limits.h"
#include "wire/messages/field_codec.h"

namespace robustrun::agent {
namespace {

class Taking : public std::enable_shared_from_this<Taking> {
 public:
  Taking(NodeContext& node, WorkerSnapshot::Plan plan, WorkerSnapshot::Done done)
      : node_(node), plan_(std::move(plan)), done_(std::move(done)) {}

  void begin() {
    if (plan_.watch != nullptr) {
      ++awaited_;
      plan_.watch->collect([self = weak_from_this()](CollectiveWatch::Collected collected) {
        auto snapshot = self.lock();
        if (!snapshot) return;
        snapshot->collected_ = std::move(collected);
        snapshot->finish_one();
      });
    }
    if (plan_.suspect) {
      ++awaited_;
      evidence_source_ = EvidenceCollector::start(
          node_, *plan_.suspect,
          std::chrono::duration_cast<std::chrono::milliseconds>(plan_.within),
          [self = weak_from_this()](tracer::Evidence evidence) {
            auto snapshot = self.lock();
            if (!snapshot) return;
            snapshot->evidence_ = std::move(evidence);
            snapshot->finish_one();
          });
    }
    ++awaited_;
    boost::asio::post(node_.executor, [self = weak_from_this()] {
      if (auto snapshot = self.lock()) snapshot->finish_one();
    });
  }

  void drop() {
    done_ = nullptr;
    evidence_source_.reset();
  }

 private:
  void finish_one() {
    if (--awaited_ > 0 || !done_) return;
    tracer::RankSnapshot snapshot = plan_.describe();
    snapshot.comms = std::move(collected_.comms);
    snapshot.calls_still = collected_.calls_still;
    snapshot.proxy_still = collected_.proxy_still;
    evidence_.data_wait = std::move(snapshot.evidence.data_wait);
    snapshot.evidence = std::move(evidence_);
    std::exchange(done_, nullptr)(encode_bounded(std::move(snapshot)));
  }

  NodeContext& node_;
  const WorkerSnapshot::Plan plan_;
  WorkerSnapshot::Done done_;
  unsigned awaited_ = 0;
  std::unique_ptr<EvidenceCollector> evidence_source_;
  CollectiveWatch::Collected collected_;
  tracer::Evidence evidence_;
};

class WorkerSnapshotOwner final : public WorkerSnapshot {
 public:
  explicit WorkerSnapshotOwner(std::shared_ptr<Taking> snapshot) : snapshot_(std::move(snapshot)) {}
  ~WorkerSnapshotOwner() override { snapshot_->drop(); }
  WorkerSnapshotOwner(const WorkerSnapshotOwner&) = delete;
  WorkerSnapshotOwner& operator=(const WorkerSnapshotOwner&) = delete;

 private:
  std::shared_ptr<Taking> snapshot_;
};

}  // namespace

std::string encode_bounded(tracer::RankSnapshot snapshot) {
  std::string bytes = wire::encode(snapshot);
  if (bytes.size() <= kObservedBytesMax) return bytes;
  for (tracer::Membership& comm : snapshot.comms) {
    comm.recent.clear();
    comm.timings.clear();
    comm.edges.clear();
  }
  bytes = wire::encode(snapshot);
  if (bytes.size() <= kObservedBytesMax) return bytes;
  snapshot.evidence = {};
  snapshot.evidence.missing = {"all of it: too much to send"};
  for (tracer::Membership& comm : snapshot.comms) {
    comm.flows.clear();
    comm.peers.clear();
  }
  bytes = wire::encode(snapshot);
  if (bytes.size() <= kObservedBytesMax) return bytes;
  snapshot.comms.clear();
  return wire::encode(snapshot);
}

std::unique_ptr<WorkerSnapshot> WorkerSnapshot::take(NodeContext& node, Plan plan, Done done) {
  auto snapshot = std::make_shared<Taking>(node, std::move(plan), std::move(done));
  snapshot->begin();
  return std::make_unique<WorkerSnapshotOwner>(std::move(snapshot));
}

}  // namespace robustrun::agent
