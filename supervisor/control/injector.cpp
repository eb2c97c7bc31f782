#include "supervisor/control/injector.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <utility>

#include "base/core/text.h"
#include "base/io/log.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {
namespace {

using base::Errc;
using Node = Injector::Node;
using Group = Injector::Group;
using Target = wire::FaultRow::Target;

FaultTarget worker_of(const Node& node, std::size_t local_rank) {
  return {node.id, node.name, node.ranks[local_rank],
          base::LocalRank{static_cast<std::uint32_t>(local_rank)}};
}

const Node* named(const Group& group, const std::string& name) {
  const auto found = std::ranges::find_if(group.nodes, [&](const Node& node) {
    return node.name == name || (!node.address.empty() && node.address == name);
  });
  return found == group.nodes.end() ? nullptr : &*found;
}

std::unexpected<base::Error> no_such_node(const Group& group, const std::string& name) {
  std::vector<std::string> names;
  for (const Node& node : group.nodes) names.push_back(node.name);
  const std::string near = base::nearest(name, names);
  return base::fail(
      Errc::kInvalidArgument,
      fmt::format("no node of this run is called '{}', or it is lost{}", base::printable(name),
                  near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
}

std::unexpected<base::Error> nobody_yet() {
  return base::fail(Errc::kUnavailable, "no worker is running at the moment");
}

base::Result<FaultTarget> choose_worker(const FaultRequest& request, const Group& group) {
  std::vector<FaultTarget> all;
  for (const Node& node : group.nodes) {
    for (std::size_t i = 0; i < node.ranks.size(); ++i) all.push_back(worker_of(node, i));
  }
  if (all.empty()) return nobody_yet();
  std::ranges::sort(all, {}, &FaultTarget::rank);
  if (request.rank) {
    const auto found = std::ranges::find(all, request.rank, &FaultTarget::rank);
    if (found != all.end()) return *found;
    return base::fail(Errc::kInvalidArgument,
                      fmt::format("there is no rank {} now: the largest is {}", request.rank->value,
                                  all.back().rank->value));
  }
  if (!request.node.empty()) {
    const Node* const node = named(group, request.node);
    if (node == nullptr) return no_such_node(group, request.node);
    if (node->ranks.empty()) {
      return base::fail(Errc::kInvalidArgument,
                        fmt::format("{} is a spare and has no workers", node->name));
    }
    return worker_of(*node, request.draw % node->ranks.size());
  }
  return all[request.draw % all.size()];
}

base::Result<FaultTarget> choose_node(const FaultRequest& request, const Group& group) {
  const Node* node = nullptr;
  if (!request.node.empty()) {
    node = named(group, request.node);
    if (node == nullptr) return no_such_node(group, request.node);
  } else if (request.rank) {
    const FaultTarget worker = RR_TRY(choose_worker(request, group));
    return FaultTarget{worker.node, worker.node_name, {}, {}};
  } else {
    // Of those that work: a spare's loss is no drill, unless it is named.
    std::vector<const Node*> working;
    for (const Node& each : group.nodes) {
      if (!each.ranks.empty()) working.push_back(&each);
    }
    if (working.empty()) return nobody_yet();
    node = working[request.draw % working.size()];
  }
  return FaultTarget{node->id, node->name, {}, {}};
}

}  // namespace

base::Result<FaultTarget> choose_target(const FaultRequest& request, const Group& group) {
  return wire::find_fault(request.kind)->target == Target::kRank ? choose_worker(request, group)
                                                                 : choose_node(request, group);
}

class Injector::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(boost::asio::any_io_executor executor, Hands hands)
      : executor_(executor), hands_(std::move(hands)) {}

  void inject(const FaultRequest& request, Done done);
  void on_report(base::NodeId node, const wire::Injected& report);
  void on_agent_lost(base::NodeId node);
  void note_own_death(std::int32_t pid);
  void close() { orders_.clear(); }

 private:
  struct Order {
    wire::FaultKind kind = wire::FaultKind::kKill;
    base::Attempt attempt;
    FaultTarget victim;
    Done done;
    boost::asio::steady_timer deadline;
  };
  void arm(std::uint64_t id);
  // Answers, and forgets the order.
  void end(std::uint64_t id, base::Result<FaultReport> result);

  boost::asio::any_io_executor executor_;
  Hands hands_;
  std::map<std::uint64_t, Order> orders_;
  std::uint64_t last_id_ = 0;
};

void Injector::Impl::inject(const FaultRequest& request, Done done) {
  if (orders_.size() >= kInjectionsMax) {
    return done(base::fail(Errc::kLimit, "too many faults are being made at once"));
  }
  const Group group = hands_.group();
  auto victim = choose_target(request, group);
  if (!victim) return done(std::unexpected(victim.error()));
  const std::uint64_t id = ++last_id_;
  const base::NodeId node = victim->node;
  wire::Inject order{
      id, group.attempt, request.kind, victim->local_rank, request.duration, request.delay};
  orders_.emplace(id, Order{request.kind, group.attempt, *std::move(victim), std::move(done),
                            boost::asio::steady_timer(executor_)});
  arm(id);
  hands_.send(node, order);
}

void Injector::Impl::arm(std::uint64_t id) {
  auto& deadline = orders_.at(id).deadline;
  deadline.expires_after(kInjectionAnswerMax);
  deadline.async_wait([weak = weak_from_this(), id](const boost::system::error_code& error) {
    auto self = error ? nullptr : weak.lock();
    if (self) self->end(id, base::fail(Errc::kTimeout, "the node's agent does not answer"));
  });
}

void Injector::Impl::on_report(base::NodeId node, const wire::Injected& report) {
  const auto found = orders_.find(report.id);
  if (found == orders_.end() || found->second.victim.node != node) return;
  if (!report.error.empty()) {
    return end(report.id, base::fail(Errc::kUnavailable, base::printable(report.error)));
  }
  const FaultTarget& victim = found->second.victim;
  end(report.id, FaultReport{victim.rank, victim.node_name, report.pid, report.done});
}

void Injector::Impl::on_agent_lost(base::NodeId node) {
  std::vector<std::uint64_t> ids;
  for (const auto& [id, order] : orders_) {
    if (order.victim.node == node) ids.push_back(id);
  }
  for (const std::uint64_t id : ids) {
    const auto found = orders_.find(id);
    if (found == orders_.end()) continue;
    if (found->second.kind == wire::FaultKind::kAgentDeath) {
      end(id, FaultReport{{}, found->second.victim.node_name, 0, "the agent is gone"});
    } else {
      end(id, base::fail(Errc::kUnavailable, "the node's agent was lost meanwhile"));
    }
  }
}

void Injector::Impl::end(std::uint64_t id, base::Result<FaultReport> result) {
  const auto node = orders_.extract(id);
  if (node.empty()) return;
  const Order& order = node.mapped();
  const base::LogContext context{.node = order.victim.node_name, .rank = order.victim.rank};
  const std::string_view name = wire::find_fault(order.kind)->name;
  if (result) {
    RR_LOG(kWarn, (context), "injected fault: {} ({})", name, result->done);
    hands_.record({std::string(name), order.attempt, order.victim.node, order.victim.rank,
                   result->pid, result->done});
  } else {
    RR_LOG(kWarn, (context), "cannot inject {}: {}", name, result.error().what);
  }
  order.done(std::move(result));
}

void Injector::Impl::note_own_death(std::int32_t pid) {
  const std::string_view name = wire::find_fault(wire::FaultKind::kSupervisorDeath)->name;
  RR_LOG(kWarn, {}, "injected fault: {}", name);
  hands_.record({std::string(name), hands_.group().attempt, {}, {}, pid, "SIGKILL"});
}

Injector::Injector(boost::asio::any_io_executor executor, Hands hands)
    : impl_(std::make_shared<Impl>(executor, std::move(hands))) {}
Injector::~Injector() { impl_->close(); }
void Injector::inject(const FaultRequest& request, Done done) {
  impl_->inject(request, std::move(done));
}
void Injector::on_report(base::NodeId node, const wire::Injected& report) {
  impl_->on_report(node, report);
}
void Injector::note_own_death(std::int32_t pid) { impl_->note_own_death(pid); }
void Injector::on_agent_lost(base::NodeId node) { impl_->on_agent_lost(node); }

}  // namespace robustrun::supervisor
