// How agents come in: a socket pair, or through the door, and back after a broken connection.

#include <fmt/core.h>

#include <algorithm>
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
#include "wire/net/local_addresses.h"

namespace robustrun::supervisor {

base::Status Driver::Impl::open_listener(const RunAuthority* before) {
  if (!nodes_.keeps_orders()) return {};  // its agent is on this machine
  AgentListener::Host host;
  host.is_expected = [this](base::NodeId node, base::Generation generation) {
    return nodes_.has(node) && nodes_[node].generation == generation && !nodes_[node].joined &&
           !nodes_[node].lost && !finished_;
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
  expect_agents();
  const std::string& invitation = request_.network.invitation;
  if (invitation.empty()) return {};
  RR_TRY(base::make_directories(invitation.substr(0, invitation.rfind('/')), 0700));
  return write_private_file(invitation, agent_listener_->invitation());
}

// On this machine, and on the hosts that the user or the scheduler named. Hosts that join by
// themselves are not known before.
void Driver::Impl::expect_agents() {
  if (const auto own = wire::local_addresses()) {
    for (const std::string& address : *own) agent_listener_->expect(address);
  }
  if (parts_.look_up && !request_.network.hosts.empty()) look_up_host(0);
}

// One at a time: a resolver may take seconds.
void Driver::Impl::look_up_host(std::size_t index) {
  parts_.look_up(request_.network.hosts[index].name,
                 [self = weak_from_this(), index](const std::vector<std::string>& addresses) {
                   const auto driver = self.lock();
                   if (!driver || !driver->agent_listener_) return;
                   for (const auto& each : addresses) driver->agent_listener_->expect(each);
                   if (index + 1 < driver->request_.network.hosts.size()) {
                     driver->look_up_host(index + 1);
                   }
                 });
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

// A worker signalled its parent, as to end the launcher, or an agent of this machine got a signal:
// as that signal to us. All ranks may do so at once, and the second signal to us would kill them.
void Driver::Impl::on_report(base::NodeId node, const wire::StopRun& order) {
  if (!agent_listener_) nodes_.send(node, order);  // the agent need not stop the workers by itself
  // Slurm's SIGTERM to a job that brought this node: its agent reports that it leaves.
  const bool ends_alone =
      request_.spec.group.replace > 0 && node.value >= request_.spec.nodes.size();
  const bool is_ending = job_.state() == JobState::kFinishing || finished_;
  if (is_ending || (order.signal == SIGTERM && ends_alone) ||
      std::ranges::find(request_.end_signals, order.signal) == request_.end_signals.end()) {
    return;
  }
  if (order.signal == SIGTERM && slurm_.may_signal()) return slurm_.signalled();
  relayed_signal_ = order.signal;
  relayed_at_ = parts_.clock.now();
  const std::string origin = base::printable(order.host.substr(0, HOST_NAME_MAX));
  dispatch(
      SignalReceived{order.signal, false, {}, base::signal_name(order.signal) + " from " + origin});
}

bool Driver::Impl::was_relayed(int signal) {
  const bool is_first = !std::exchange(was_signalled_, true);
  return is_first && relayed_signal_ == signal &&
         parts_.clock.now() - relayed_at_ < kRelayedSignalMax;
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
    if (!driver || driver->nodes_[node].generation != generation) return;
    driver->on_broken(node, error.what);
  };
  // A slow console must not hide the loss: the agent's last output is shown or dropped.
  handlers.on_peer_gone = [self = weak_from_this(), node, generation] {
    auto driver = self.lock();
    if (!driver || driver->nodes_[node].generation != generation) return;
    driver->resume(driver->nodes_[node]);
  };
  return handlers;
}

void Driver::Impl::on_channel(base::NodeId node, base::Generation generation, base::Fd socket) {
  NodeLink& link = nodes_[node];
  // The run has ended meanwhile: the closed channel makes the agent end.
  if (link.generation != generation || finished_) return;
  link.channel =
      wire::Channel::open(parts_.executor, std::move(socket), handlers_for(node, generation));
}

void Driver::Impl::on_agent(const wire::PeerName& peer, wire::Hello hello,
                            std::shared_ptr<wire::Channel> channel) {
  const bool known = nodes_.has(peer.node);
  if (finished_ || !known || nodes_[peer.node].lost ||
      nodes_[peer.node].generation != peer.generation) {
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
  NodeLink& link = nodes_[peer.node];
  if (link.channel) link.channel->close();  // the half of an older connection
  link.channel = std::move(channel);
  link.channel->set_handlers(handlers_for(peer.node, peer.generation));
  link.paused = false;
  link.broken_at.reset();
  link.listens.clear();
  if (link.joined)
    RR_LOG(kInfo, ({.node = nodes_.name(peer.node)}), "the agent is connected again");
  on_message(peer.node, peer.generation, std::move(hello));
}

base::Result<std::pair<base::NodeId, base::Generation>> Driver::Impl::take_volunteer(
    const wire::Enrol& enrol, const wire::ConnectionAddresses& addresses) {
  // The next run may take the node: what starts lost nodes again starts supervisors again, too.
  if (finished_) return base::fail(base::Errc::kUnavailable, "the run has ended");
  if (job_.state() == JobState::kFinishing) {
    return base::fail(base::Errc::kUnavailable, "the run is ending");
  }
  if (!request_.spec.group.open && request_.spec.group.replace == 0) {
    return base::fail(base::Errc::kConflict, "this run takes no volunteers");
  }
  if (nodes_.size() >= kNodesMax) {
    return base::fail(base::Errc::kConflict, "this run has as many nodes as it may have");
  }
  NodeSpec spec;
  spec.name = enrol.host;
  spec.address = addresses.remote;
  spec.slots = enrol.slots == 0 ? request_.spec.nodes.front().slots : enrol.slots;
  spec.volunteer = true;
  spec.node_rank = enrol.node_rank;
  const base::NodeId node = nodes_.add(spec.name);
  dispatch(NodeOffered{std::move(spec)}, node);
  if (nodes_[node].generation == base::Generation{}) {
    return base::fail(base::Errc::kUnavailable, "the run is ending");
  }
  return std::pair(node, nodes_[node].generation);
}

// The connection ended. On this machine the launcher reports the end of the process, with the
// reason, and this is only the first sign. Over a network the agent may come back.
void Driver::Impl::on_broken(base::NodeId node, const std::string& why) {
  NodeLink& link = nodes_[node];
  link.channel.reset();
  link.paused = false;
  RR_LOG(kDebug, ({.node = nodes_.name(node)}), "channel closed: {}", why);
  if (finished_ && all_agents_left()) return say_goodbye();
  if (!agent_listener_ || !link.joined || finished_ || link.lost) return;
  if (link.launcher_lost)
    return lose(node, link.launcher_lost->why, link.launcher_lost->node_answers);
  link.broken_at = parts_.clock.now();
  link.broken_why = why;
  leases_.suspect(node, "its connection broke: " + why);
}

// The session that started an agent may end for reasons of its own: as long as the agent itself is
// connected, it lives.
void Driver::Impl::on_launcher_lost(base::NodeId node, const launcher::AgentEnd& end) {
  NodeLink& link = nodes_[node];
  if (agent_listener_ && link.joined && link.channel) {
    link.launcher_lost = end;
  } else {
    lose(node, end.why, end.node_answers);
  }
}

wire::Welcome Driver::Impl::welcome_for(base::NodeId node) const {
  wire::Welcome welcome{wire::kProtocolVersion, node, nodes_[node].generation, request_.workers};
  const LeaseTimes& lease = request_.network.lease;
  welcome.heartbeat_interval = lease.interval;
  welcome.incarnation = job_.incarnation();
  // The node's name in all our messages, for programs that mention it.
  welcome.workers.environment.push_back("ROBUSTRUN_NODE=" + nodes_.name(node));
  if (!agent_listener_) return welcome;
  welcome.endpoints = agent_listener_->endpoints();
  welcome.silence_max = lease.lost_after;
  welcome.orphan_grace = lease.orphan_grace;
  std::string& logs = welcome.workers.log_directory;
  // Machines often share a file system. In compat every command of a rendezvous has a folder with a
  // random name of its own for that, as with torchrun.
  const bool has_own_name = request_.spec.compat && request_.spec.group.open;
  if (!has_own_name && !logs.empty())
    logs += fmt::format("/node{}_{}", node.value, nodes_.name(node));
  return welcome;
}

void Driver::Impl::repeat_orders(base::NodeId node) {
  const NodeLink& link = nodes_[node];
  if (link.copies) link.channel->send(*link.copies);
  if (const auto& list = blocks_.list()) link.channel->send(*list);
  for (wire::Message order : link.orders) {
    if (auto* stop = std::get_if<wire::StopWorkers>(&order)) {
      stop->grace = std::max(base::Nanos{}, link.kill_at - parts_.clock.now());
    }
    link.channel->send(order);
  }
  if (const auto& round = copies_.round(); round && !link.ranks.empty()) {
    link.channel->send(*round);
  }
}

// From here on the agent is fenced: its generation is refused, its workers are its own to kill.
void Driver::Impl::lose(base::NodeId node, const std::string& why, bool node_answers) {
  NodeLink& link = nodes_[node];
  if (std::exchange(link.lost, true)) return;
  link.joined = false;
  link.orders.clear();
  if (link.channel) {
    if (agent_listener_) link.channel->send(wire::Refused{"given up: " + why, true});
    std::exchange(link.channel, nullptr)->close();
  }
  if (injector_) injector_->on_agent_lost(node);
  dispatch(AgentLost{why, node_answers, parts_.clock.now() - link.heard_at}, node);
  checks_.on_agent_lost(node, why);
  looks_.on_agent_lost(node);
}

// So that agents notice when we cannot be heard any more.
void Driver::Impl::beat(base::NodeId node, std::uint64_t number) {
  if (!agent_listener_) return;
  nodes_.send(node, wire::Heartbeat{number, {}, parts_.clock.now()});
  const NodeLink& link = nodes_[node];
  if (!link.listens.empty() && !link.lost) agent_listener_->call(link.listens);
  // A node without ranks is a spare, as the group is formed.
  const bool is_spare = link.joined && !link.lost && link.channel && link.ranks.empty();
  const bool is_told = is_spare && job_.state() == JobState::kRunning;
  const auto standbys = is_told ? spare_standbys_.tell(node, link.generation) : std::nullopt;
  if (standbys) nodes_.send(node, *standbys);
}

// Steps that were done before the silence are still reported for a moment after its start. So what
// counts is that the furthest rank went on lately; and when a group is being stopped, nothing does.
bool Driver::Impl::peers_progress() const {
  return job_.state() == JobState::kRunning &&
         parts_.clock.now() - stepped_at_ < request_.network.lease.suspect_after;
}

void Driver::Impl::note_steps() {
  const std::uint64_t furthest = progress_.furthest();
  if (std::exchange(furthest_, furthest) < furthest) stepped_at_ = parts_.clock.now();
  speed_.note(parts_.clock.now(), progress_.newest().steps);
  if (const auto news = line_news_.due(parts_.clock.now())) RR_LOG(kWarn, {}, "{}", *news);
}

}  // namespace robustrun::supervisor
