// How agents come in: a socket pair, or through the door, and back after a broken connection.

#include <fmt/core.h>

#include <climits>
#include <csignal>
#include <type_traits>
#include <utility>

#include "base/core/exit_status.h"
#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/log.h"
#include "supervisor/core/types/limits.h"
#include "supervisor/driver/impl.h"
#include "supervisor/limits.h"
#include "supervisor/run_dir/private_file.h"

namespace robustrun::supervisor {

base::Status Driver::Impl::open_listener(const RunAuthority* before) {
  if (request_.network.launch == NetworkPlan::Launch::kSocketPair && !request_.spec.group.open) {
    return {};
  }
  AgentListener::Host host;
  host.is_expected = [this](base::NodeId node, base::Generation generation) {
    return node.value < nodes_.size() && nodes_[node.value].generation == generation &&
           !nodes_[node.value].joined && !nodes_[node.value].lost && !finished_;
  };
  host.take_volunteer = [this](const wire::Enrol& enrol,
                               const wire::ConnectionAddresses& addresses) {
    return take_volunteer(enrol, addresses);
  };
  host.on_agent = [this](const wire::PeerName& peer, wire::Hello hello,
                         std::shared_ptr<wire::Channel> channel) {
    on_agent(peer, std::move(hello), std::move(channel));
  };
  host.on_stop = [this](const wire::StopRun& order) { on_stop(order); };
  agent_listener_ =
      RR_TRY(AgentListener::open(parts_.executor, request_.network, std::move(host), before));
  const std::string& invitation = request_.network.invitation;
  if (invitation.empty()) return {};
  RR_TRY(base::make_directories(invitation.substr(0, invitation.rfind('/')), 0700));
  return write_private_file(invitation, agent_listener_->invitation());
}

void Driver::Impl::on_stop(const wire::StopRun& order) {
  // As read_stop_request() has it (operation_request.h).
  const bool possible =
      order.signal > 0 && order.signal < NSIG && order.signal != SIGKILL &&
      order.signal != SIGSTOP &&
      (!order.grace || (*order.grace >= base::Nanos{} && *order.grace <= kStopGraceMax));
  if (!possible || finished_) return;
  dispatch(
      SignalReceived{order.signal, false, order.grace,
                     "robustrun stop on " + base::printable(order.host.substr(0, HOST_NAME_MAX))});
}

// A worker signalled its parent, as to end the launcher: as that signal to us. All ranks may do so
// at once, and the second signal to us would kill them.
void Driver::Impl::on_report(base::NodeId, const wire::StopRun& order) {
  const bool is_ending = job_.state() == JobState::kFinishing || finished_;
  if (is_ending ||
      std::ranges::find(request_.end_signals, order.signal) == request_.end_signals.end()) {
    return;
  }
  if (order.signal == SIGTERM && parts_.ask_slurm) return signalled_by_slurm();
  const std::string origin = base::printable(order.host.substr(0, HOST_NAME_MAX));
  dispatch(
      SignalReceived{order.signal, false, {}, base::signal_name(order.signal) + " from " + origin});
}

std::optional<RunAuthority> Driver::Impl::authority() const {
  return agent_listener_ ? std::optional(agent_listener_->authority()) : std::nullopt;
}

wire::Channel::Handlers Driver::Impl::handlers_for(base::NodeId node, base::Generation generation) {
  wire::Channel::Handlers handlers;
  handlers.on_message = [self = weak_from_this(), node, generation](wire::Message message) {
    if (auto driver = self.lock()) driver->on_message(node, generation, std::move(message));
  };
  handlers.on_closed = [self = weak_from_this(), node, generation](const base::Error& error) {
    auto driver = self.lock();
    if (!driver || driver->nodes_[node.value].generation != generation) return;
    driver->on_broken(node, error.what);
  };
  // A slow console must not hide the loss: the agent's last output is shown or dropped.
  handlers.on_peer_gone = [self = weak_from_this(), node, generation] {
    auto driver = self.lock();
    if (!driver || driver->nodes_[node.value].generation != generation) return;
    driver->resume(driver->nodes_[node.value]);
  };
  return handlers;
}

void Driver::Impl::on_channel(base::NodeId node, base::Generation generation, base::Fd socket) {
  NodeLink& link = nodes_[node.value];
  // The run has ended meanwhile: the closed channel makes the agent end.
  if (link.generation != generation || finished_) return;
  link.channel =
      wire::Channel::open(parts_.executor, std::move(socket), handlers_for(node, generation));
}

void Driver::Impl::on_agent(const wire::PeerName& peer, wire::Hello hello,
                            std::shared_ptr<wire::Channel> channel) {
  const bool known = peer.node.value < nodes_.size();
  if (finished_ || !known || nodes_[peer.node.value].lost ||
      nodes_[peer.node.value].generation != peer.generation) {
    // What it has is of the past: it kills its workers and ends.
    const std::string why =
        finished_ ? "the run has ended"
                  : fmt::format("agent {} of node {} was given up, and another took its place",
                                peer.generation.value, peer.node.value);
    if (!finished_) RR_LOG(kInfo, {}, "an agent came back too late: {}", why);
    channel->send(wire::Refused{why, true});
    channel->close();
    return;
  }
  NodeLink& link = nodes_[peer.node.value];
  if (link.channel) link.channel->close();  // the half of an older connection
  link.channel = std::move(channel);
  link.channel->set_handlers(handlers_for(peer.node, peer.generation));
  link.paused = false;
  link.broken_at.reset();
  link.listens.clear();
  if (link.joined) RR_LOG(kInfo, ({.node = node_name(peer.node)}), "the agent is connected again");
  on_message(peer.node, peer.generation, std::move(hello));
}

base::Result<std::pair<base::NodeId, base::Generation>> Driver::Impl::take_volunteer(
    const wire::Enrol& enrol, const wire::ConnectionAddresses& addresses) {
  // The next run may take the node: what starts lost nodes again starts supervisors again, too.
  if (finished_) return base::fail(base::Errc::kUnavailable, "the run has ended");
  if (job_.state() == JobState::kFinishing) {
    return base::fail(base::Errc::kUnavailable, "the run is ending");
  }
  if (!request_.spec.group.open) {
    return base::fail(base::Errc::kConflict, "this run takes no volunteers");
  }
  if (nodes_.size() >= kNodesMax) {
    return base::fail(base::Errc::kConflict, "this run has as many nodes as it may have");
  }
  const base::NodeId node{static_cast<std::uint32_t>(nodes_.size())};
  NodeSpec spec;
  spec.name = enrol.host;
  spec.address = addresses.remote;
  spec.slots = enrol.slots;
  spec.volunteer = true;
  spec.node_rank = enrol.node_rank;
  names_.push_back(spec.name);
  nodes_.emplace_back();
  dispatch(NodeOffered{std::move(spec)}, node);
  if (nodes_[node.value].generation == base::Generation{}) {
    return base::fail(base::Errc::kUnavailable, "the run is ending");
  }
  return std::pair(node, nodes_[node.value].generation);
}

// The connection ended. On this machine the launcher reports the end of the process, with the
// reason, and this is only the first sign. Over a network the agent may come back.
void Driver::Impl::on_broken(base::NodeId node, const std::string& why) {
  NodeLink& link = nodes_[node.value];
  link.channel.reset();
  link.paused = false;
  RR_LOG(kDebug, ({.node = node_name(node)}), "channel closed: {}", why);
  if (finished_ && all_agents_left()) return say_goodbye();
  if (!agent_listener_ || !link.joined || finished_ || link.lost) return;
  if (link.launcher_lost)
    return lose(node, link.launcher_lost->why, link.launcher_lost->node_answers);
  link.broken_at = parts_.clock.now();
  link.broken_why = why;
  suspect(node, "its connection broke: " + why);
}

// The session that started an agent may end for reasons of its own: as long as the agent itself is
// connected, it lives.
void Driver::Impl::on_launcher_lost(base::NodeId node, const launcher::AgentEnd& end) {
  NodeLink& link = nodes_[node.value];
  if (agent_listener_ && link.joined && link.channel) {
    link.launcher_lost = end;
  } else {
    lose(node, end.why, end.node_answers);
  }
}

wire::Welcome Driver::Impl::welcome_for(base::NodeId node) const {
  wire::Welcome welcome{wire::kProtocolVersion, node, nodes_[node.value].generation,
                        request_.workers};
  const LeaseTimes& lease = request_.network.lease;
  welcome.heartbeat_interval = lease.interval;
  welcome.incarnation = job_.incarnation();
  // The node's name in all our messages, for programs that mention it.
  welcome.workers.environment.push_back("ROBUSTRUN_NODE=" + node_name(node));
  if (!agent_listener_) return welcome;
  welcome.endpoints = agent_listener_->endpoints();
  welcome.silence_max = lease.lost_after;
  welcome.orphan_grace = lease.orphan_grace;
  std::string& logs = welcome.workers.log_directory;
  // Machines often share a file system. In compat every command of a rendezvous has a folder with a
  // random name of its own for that, as with torchrun.
  const bool has_own_name = request_.spec.compat && request_.spec.group.open;
  if (!has_own_name && !logs.empty())
    logs += fmt::format("/node{}_{}", node.value, node_name(node));
  return welcome;
}

void Driver::Impl::repeat_orders(base::NodeId node) {
  const NodeLink& link = nodes_[node.value];
  if (link.copies) link.channel->send(*link.copies);
  if (block_peers_) link.channel->send(*block_peers_);
  for (wire::Message order : link.orders) {
    if (auto* stop = std::get_if<wire::StopWorkers>(&order)) {
      stop->grace = std::max(base::Nanos{}, link.kill_at - parts_.clock.now());
    }
    link.channel->send(order);
  }
  if (const auto& round = copy_rounds_.order(); round && !link.ranks.empty()) {
    link.channel->send(*round);
  }
}

}  // namespace robustrun::supervisor
