#include "agent/worker/checkpoint_demotion.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "agent/node/limits.h"
#include "base/core/text.h"
#include "checkpoint/store/catalog.h"
#include "checkpoint/store/retention.h"

namespace robustrun::agent {
namespace {

constexpr std::size_t kDemotionsMax = 4;  // orders that wait while a directory hangs

}  // namespace

base::Status set_aside(const wire::DemoteCheckpoint& order) {
  const checkpoint::AttemptId wanted{order.step, order.generation, order.token};
  const auto all = RR_TRY(checkpoint::list_attempts(order.directories));
  const auto found = std::ranges::find(all, wanted, &checkpoint::FoundAttempt::attempt);
  if (found == all.end() || found->state != checkpoint::AttemptState::kCommitted) {
    return base::fail(base::Errc::kNotFound, "there is no such committed checkpoint in " +
                                                 base::printable(order.directories.front()));
  }
  return checkpoint::mark_poisoned(checkpoint::posix_disk(), *found, order.reason);
}

CheckpointDemotion::CheckpointDemotion(NodeContext& node)
    : node_(node), pool_(node.executor, 1, kDemotionsMax), alive_(std::make_shared<bool>(true)) {}

void CheckpointDemotion::demote(wire::DemoteCheckpoint order) {
  const std::uint64_t number = order.order;
  auto status = std::make_shared<base::Status>();
  auto done = [this, alive = std::weak_ptr(alive_), number, status] {
    if (alive.expired()) return;
    node_.send(wire::CheckpointDemoted{number, *status ? std::string() : status->error().what});
  };
  const base::Status submitted = pool_.submit(
      kSingleLane,
      [status, order = std::move(order)] {
        *status = order.directories.empty()
                      ? base::fail(base::Errc::kInvalidArgument, "no directory is named")
                      : set_aside(order);
      },
      std::move(done));
  if (!submitted) {
    node_.send(
        wire::CheckpointDemoted{number, "other checkpoints are still being demoted on this node"});
  }
}

}  // namespace robustrun::agent
