// What `robustrun top` asks for beyond the status: what one rank uses, and to evict a node.

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/core/text.h"
#include "supervisor/driver/impl.h"
#include "supervisor/limits.h"

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

}  // namespace

// Only that rank's agent is asked, and only now: nothing is measured that is not looked at.
void Driver::Impl::look_at_use(base::Rank rank, UseAnswer done) {
  Observation::Plan plan = observation_of(
      {++looks_begun_, job_.attempt(), false, kObserveWithin, false, base::LocalRank{}});
  std::erase_if(plan.nodes, [rank](const Observation::Node& node) {
    return std::ranges::find(node.ranks, rank) == node.ranks.end();
  });
  if (job_.state() != JobState::kRunning || plan.nodes.empty()) {
    return done(base::fail(Errc::kUnavailable, "no such rank is running at the moment"));
  }
  if (use_looks_.size() >= kUseLooksMax) {
    return done(base::fail(Errc::kLimit, "too many ranks are being looked at"));
  }
  const auto& ranks = plan.nodes.front().ranks;
  plan.question.use_of =
      base::LocalRank{static_cast<std::uint32_t>(std::ranges::find(ranks, rank) - ranks.begin())};
  const auto own = std::make_shared<std::weak_ptr<Observation>>();
  Observation::Hands hands;
  hands.send = [this](base::NodeId node, const wire::Message& message) { send(node, message); };
  hands.done = [self = weak_from_this(), own, done = std::move(done)](
                   const tracer::FleetSnapshot& fleet, const wire::RasAnswer&) {
    if (auto driver = self.lock()) std::erase(driver->use_looks_, own->lock());
    const bool is_known = !fleet.ranks.empty() && fleet.ranks.front().evidence.has_process;
    done(is_known ? base::Result<RankUse>(use_of(fleet.ranks.front().evidence))
                  : base::fail(Errc::kUnavailable, "its node does not tell"));
  };
  auto look = Observation::begin(parts_.executor, std::move(plan), std::move(hands));
  *own = look;
  use_looks_.push_back(std::move(look));
}

// A finding about the machine that no agent made: the core stops the workers, and goes on without
// the node, as after any other sure fault of a machine.
base::Status Driver::Impl::evict(const std::string& name) {
  const auto found = std::ranges::find(names_.rbegin(), names_.rend(), name);
  if (found == names_.rend()) {
    return base::fail(Errc::kInvalidArgument,
                      fmt::format("no node of this run is called '{}'",
                                  base::printable(name.substr(0, kNodeNameBytesMax))));
  }
  const base::NodeId node{static_cast<std::uint32_t>(names_.rend() - found - 1)};
  if (const std::string why = job_.why_not_evict(node); !why.empty()) {
    return base::fail(Errc::kUnavailable, fmt::format("cannot evict {}: {}", name, why));
  }
  dispatch(NodeHealth{NodeHealth::Source::kUser, {}, "a user ordered its eviction"}, node);
  return {};
}

}  // namespace robustrun::supervisor
