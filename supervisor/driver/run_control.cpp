#include "supervisor/driver/run_control.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/core/text.h"
#include "base/io/log.h"
#include "supervisor/control/diagnose_row.h"
#include "supervisor/control/inject_command.h"
#include "supervisor/control/stacks_row.h"
#include "supervisor/control/update_request.h"
#include "supervisor/control/view_rows.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {

RunControl::RunControl(boost::asio::any_io_executor executor, const Sources& sources, Hands hands)
    : executor_(std::move(executor)),
      of_(sources),
      hands_(std::move(hands)),
      injector_(executor_, {[this] { return reachable_group(); },
                            [this](base::NodeId node, const wire::Message& order) {
                              of_.nodes.send(node, order);
                            },
                            [this](const FaultInjected& fault) { hands_.on_event(fault, {}); }}) {}

void RunControl::open() {
  const RunRequest& request = of_.request;
  auto opened = ControlServer::open(
      executor_, {request.run_directory, request.spec.run_id, request.workers.environment}, rows());
  if (opened) {
    server_ = *std::move(opened);
  } else {
    RR_LOG(kWarn, {}, "{}; no other command can reach this run", opened.error().what);
  }
}

std::vector<ControlServer::Row> RunControl::rows() {
  std::vector<ControlServer::Row> rows = operation_rows(
      of_.hub, {hands_.status,
                [this](const StopRequest& request) {
                  SignalReceived stop{request.signal, false, request.grace, "robustrun stop"};
                  hands_.on_event(std::move(stop), {});
                },
                hands_.tell});
  rows.push_back(until_over(inject_row(injector_)));
  rows.push_back(until_over(diagnose_row([this](std::function<void(const tracer::Verdict*)> done) {
    if (of_.job.state() != JobState::kRunning) return done(nullptr);
    of_.looks.look(true, std::move(done));
  })));
  rows.push_back(until_over(use_row(
      [this](base::Rank rank, UseAnswer done) { of_.looks.look_at_use(rank, std::move(done)); })));
  rows.push_back(until_over(stacks_row([this](std::optional<base::Rank> rank, StacksAnswer done) {
    of_.looks.look_at_stacks(rank, std::move(done));
  })));
  rows.push_back(until_over(evict_row([this](const std::string& node) { return evict(node); })));
  const NetworkPlan::Launch launch = of_.request.network.launch;
  const bool many = of_.request.spec.group.open || launch == NetworkPlan::Launch::kSsh ||
                    launch == NetworkPlan::Launch::kSlurm;
  rows.push_back(until_over(
      update_row({[this]() -> const Job& { return of_.job; },
                  [this](UpdateRequested event) { hands_.on_event(std::move(event), {}); },
                  of_.request.run_directory, many})));
  return rows;
}

// Agents that have been dismissed take no orders.
ControlServer::Row RunControl::until_over(ControlServer::Row row) const {
  auto answer = std::move(row.answer);
  row.answer = [this, answer = std::move(answer)](const ControlFields& fields,
                                                  ControlServer::Reply reply) {
    if (hands_.is_over()) return reply(control_refusal("the run is over"), nullptr);
    answer(fields, std::move(reply));
  };
  return row;
}

Injector::Group RunControl::reachable_group() const {
  Injector::Group group{of_.job.attempt(), {}};
  of_.nodes.each([&](base::NodeId node, const NodeLink& link) {
    if (!link.joined || link.lost || !link.channel) return;
    group.nodes.push_back({node, of_.nodes.name(node), link.address, link.ranks});
  });
  std::ranges::stable_sort(group.nodes, {}, [](const Injector::Node& node) {
    return node.ranks.empty() ? base::Rank{UINT32_MAX} : node.ranks.front();
  });
  return group;
}

// A finding about the machine that no agent made: the core stops the workers, and goes on without
// the node, as after any other sure fault of a machine.
base::Status RunControl::evict(const std::string& name) {
  const auto node = of_.nodes.find(name);
  if (!node) {
    return base::fail(base::Errc::kInvalidArgument,
                      fmt::format("no node of this run is called '{}'",
                                  base::printable(name.substr(0, kNodeNameBytesMax))));
  }
  if (const std::string why = of_.job.why_not_evict(*node); !why.empty()) {
    return base::fail(base::Errc::kUnavailable, fmt::format("cannot evict {}: {}", name, why));
  }
  hands_.on_event(NodeHealth{NodeHealth::Source::kUser, {}, "a user ordered its eviction"}, *node);
  return {};
}

}  // namespace robustrun::supervisor
