#include "supervisor/agents/connections.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/post.hpp>

#include "base/io/fd.h"
#include "base/io/log.h"
#include "supervisor/core/types/limits.h"
#include "supervisor/run_dir/private_file.h"
#include "wire/net/local_addresses.h"

namespace robustrun::supervisor {

AgentConnections::AgentConnections(boost::asio::any_io_executor executor, const base::Clock& clock,
                                   const Sources& sources, Hands hands)
    : executor_(std::move(executor)),
      clock_(clock),
      request_(sources.request),
      job_(sources.job),
      nodes_(sources.nodes),
      launcher_(sources.launcher),
      hands_(std::move(hands)) {}

AgentConnections::~AgentConnections() {
  alive_.reset();
  listener_.reset();
  nodes_.each([](base::NodeId, const NodeLink& link) {
    if (link.channel) link.channel->close();
  });
}

base::Status AgentConnections::listen(Admission admission) {
  if (!are_remote()) return {};
  admission_ = std::move(admission);
  AgentListener::Host host;
  host.is_expected = [this](base::NodeId node, base::Generation generation) {
    return is_current(node, generation) && !nodes_[node].joined && !nodes_[node].lost && !is_over_;
  };
  host.take_volunteer = [this](const wire::Enrol& enrol,
                               const wire::ConnectionAddresses& addresses) {
    return take_volunteer(enrol, addresses);
  };
  host.on_agent = [this](const wire::PeerName& peer, wire::Hello hello,
                         std::shared_ptr<wire::Channel> channel) {
    admit(peer, std::move(hello), std::move(channel));
  };
  host.on_stop = [this](const wire::StopRun& order) { admission_.on_stop(order); };
  listener_ =
      RR_TRY(AgentListener::open(executor_, request_.network, std::move(host), admission_.before));
  expect_hosts();
  const std::string& invitation = request_.network.invitation;
  if (invitation.empty()) return {};
  RR_TRY(base::make_directories(invitation.substr(0, invitation.rfind('/')), 0700));
  return write_private_file(invitation, listener_->invitation());
}

// On this machine, and on the hosts that the user or the scheduler named. Hosts that join by
// themselves are not known before.
void AgentConnections::expect_hosts() {
  if (const auto own = wire::local_addresses()) {
    for (const std::string& address : *own) expect(address);
  }
  if (admission_.look_up && !request_.network.hosts.empty()) look_up_host(0);
}

// One at a time: a resolver may take seconds.
void AgentConnections::look_up_host(std::size_t index) {
  admission_.look_up(
      request_.network.hosts[index].name,
      [this, alive = std::weak_ptr(alive_), index](const std::vector<std::string>& addresses) {
        if (alive.expired()) return;
        for (const std::string& each : addresses) expect(each);
        if (index + 1 < request_.network.hosts.size()) look_up_host(index + 1);
      });
}

std::optional<RunAuthority> AgentConnections::authority() const {
  return listener_ ? std::optional(listener_->authority()) : std::nullopt;
}

void AgentConnections::expect(const std::string& address) {
  if (listener_) listener_->expect(address);
}

bool AgentConnections::is_current(base::NodeId node, base::Generation generation) const {
  return nodes_.has(node) && nodes_[node].generation == generation;
}

void AgentConnections::perform(const LaunchAgent& action) {
  NodeLink& link = nodes_[action.node];
  if (link.channel) link.channel->close();
  link = NodeLink{};
  link.generation = action.generation;
  link.heard_at = clock_.now();
  if (action.node.value >= request_.spec.nodes.size()) return;  // a volunteer calls by itself
  link.asked_at = link.heard_at;
  const auto node = action.node;
  const auto generation = action.generation;
  launcher::AgentLauncher::Handlers handlers;
  handlers.on_channel = [this, alive = std::weak_ptr(alive_), node, generation](base::Fd socket) {
    if (!alive.expired()) on_channel(node, generation, std::move(socket));
  };
  handlers.on_lost = [this, alive = std::weak_ptr(alive_), node,
                      generation](const launcher::AgentEnd& end) {
    if (!alive.expired() && is_current(node, generation)) on_launcher_lost(node, end);
  };
  launcher::LaunchOrder order{node, generation, {}};
  if (listener_) order.credential = listener_->credential(node, generation);
  // Posted: a launcher may answer at once, and the action list is still being carried out.
  boost::asio::post(executor_, [this, alive = std::weak_ptr(alive_), order = std::move(order),
                                handlers = std::move(handlers)]() mutable {
    if (alive.expired() || is_over_) return;
    launcher_.launch(std::move(order), std::move(handlers));
  });
}

void AgentConnections::perform(const AdoptNode& action) {
  nodes_.adopt(action.node, action.name);
  NodeLink& link = nodes_[action.node];
  link.generation = action.generation;
  link.heard_at = clock_.now();
  link.lost = action.agent == AdoptNode::Agent::kLost;
  link.joined = action.agent == AdoptNode::Agent::kJoined;
  if (!link.joined) return;
  if (!are_remote()) return lose(action.node, {"it ended with its supervisor"});
  link.broken_at = link.heard_at;
  link.returns_within = request_.network.lease.lost_after;
  link.broken_why = "its supervisor was gone";
  link.listens = action.listens;
  if (listener_ && !link.listens.empty()) listener_->call(link.listens);
}

wire::Channel::Handlers AgentConnections::handlers_for(base::NodeId node,
                                                       base::Generation generation) {
  wire::Channel::Handlers handlers;
  handlers.on_message = [this, alive = std::weak_ptr(alive_), node,
                         generation](wire::Message message) {
    if (!alive.expired()) on_message(node, generation, std::move(message));
  };
  handlers.on_closed = [this, alive = std::weak_ptr(alive_), node,
                        generation](const base::Error& error) {
    if (!alive.expired() && is_current(node, generation)) on_channel_closed(node, error.what);
  };
  // A slow console must not hide the loss: the agent's last output is shown or dropped.
  handlers.on_peer_gone = [this, alive = std::weak_ptr(alive_), node, generation] {
    if (!alive.expired() && is_current(node, generation)) nodes_.resume(node, clock_.now());
  };
  return handlers;
}

void AgentConnections::on_channel(base::NodeId node, base::Generation generation, base::Fd socket) {
  // If the run has ended meanwhile, the closed channel makes the agent end.
  if (!is_current(node, generation) || is_over_) return;
  nodes_[node].channel =
      wire::Channel::open(executor_, std::move(socket), handlers_for(node, generation));
}

void AgentConnections::admit(const wire::PeerName& peer, wire::Hello hello,
                             std::shared_ptr<wire::Channel> channel) {
  if (is_over_ || !is_current(peer.node, peer.generation) || nodes_[peer.node].lost) {
    // What it has is of the past: it kills its workers and ends.
    const std::string why =
        is_over_ ? "the run has ended"
                 : fmt::format("agent {} of node {} was given up, and another took its place",
                               peer.generation.value, peer.node.value);
    if (!is_over_) RR_LOG(kInfo, {}, "an agent came back too late: {}", why);
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

void AgentConnections::on_message(base::NodeId node, base::Generation generation,
                                  wire::Message message) {
  if (!is_current(node, generation)) return;
  nodes_[node].heard_at = clock_.now();
  hands_.on_message(node, std::move(message));
}

void AgentConnections::on_report(base::NodeId node, const wire::Hello& hello) {
  NodeLink& link = nodes_[node];
  if (hello.protocol != wire::kProtocolVersion) {
    RR_LOG(kError, ({.node = nodes_.name(node)}),
           "the agent speaks protocol {}, we speak {}: install the same robustrun everywhere",
           hello.protocol, wire::kProtocolVersion);
    link.channel->close();
    link.channel.reset();
    return;
  }
  // Its workers may not have started yet.
  const bool is_foreign =
      link.joined && hello.attempt && job_.is_foreign(node, *hello.attempt, hello.ordered_by);
  if (is_foreign) {
    // An agent that has another supervisor stays with it, unless it knows that we came later.
    nodes_.send(node, welcome_for(node));
    return lose(node, {kUsedByAnother});
  }
  note_clock(link, hello.at);
  const auto& planned = request_.spec.nodes;
  if (!hello.address.empty()) {
    link.address = hello.address;
  } else if (node.value < planned.size()) {
    link.address = planned[node.value].address;
  }
  link.host = hello.host;
  link.addresses = hello.addresses;
  link.bulk = hello.bulk;
  nodes_.send(node, welcome_for(node));
  if (std::exchange(link.joined, true)) return hands_.on_connected(node, true);
  const base::Nanos now = clock_.now();
  base::Nanos began{};
  if (hello.began > base::Nanos{} && hello.at >= hello.began && hello.at - hello.began <= now) {
    began = std::max(now - (hello.at - hello.began), link.asked_at);
  }
  hands_.on_event(AgentJoined{hello.pid, hello.address, hello.slots, hello.listens, hello.bulk,
                              link.asked_at, began},
                  node);
  hands_.on_connected(node, false);
}

void AgentConnections::on_report(base::NodeId node, const wire::Heartbeat& heartbeat) {
  note_clock(nodes_[node], heartbeat.at);
}

// An agent that another process told to end reports that before it ends.
void AgentConnections::on_report(base::NodeId node, const wire::Bye&) {
  if (are_remote() && !is_over_) lose(node, {"it was told to end on its node"});
}

// Clocks of machines start with their boot. The message that was under way for the shortest time
// tells the difference best. On one machine both read the same clock, but after a takeover ours may
// be ahead of it.
void AgentConnections::note_clock(NodeLink& link, base::Nanos theirs) const {
  if (!are_remote()) {
    const base::Nanos ours = clock_.now();
    link.clock_offset = ours - base::SystemClock().now();
    return;
  }
  if (theirs == base::Nanos{}) return;
  const base::Nanos difference = clock_.now() - theirs;
  const bool known = link.clock_offset != base::Nanos{};
  link.clock_offset = known ? std::min(link.clock_offset, difference) : difference;
}

base::Result<std::pair<base::NodeId, base::Generation>> AgentConnections::take_volunteer(
    const wire::Enrol& enrol, const wire::ConnectionAddresses& addresses) {
  // The next run may take the node: what starts lost nodes again starts supervisors again, too.
  if (is_over_) return base::fail(base::Errc::kUnavailable, "the run has ended");
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
  hands_.on_event(NodeOffered{std::move(spec)}, node);
  if (nodes_[node].generation == base::Generation{}) {
    return base::fail(base::Errc::kUnavailable, "the run is ending");
  }
  return std::pair(node, nodes_[node].generation);
}

// On this machine the launcher reports the end of the process, with the reason, and this is only
// the first sign. Over a network the agent may come back.
void AgentConnections::on_channel_closed(base::NodeId node, const std::string& why) {
  NodeLink& link = nodes_[node];
  link.channel.reset();
  link.paused = false;
  RR_LOG(kDebug, ({.node = nodes_.name(node)}), "channel closed: {}", why);
  if (is_over_) return hands_.on_left();
  if (!are_remote() || !link.joined || link.lost) return;
  if (link.launcher_lost) return lose(node, *link.launcher_lost);
  link.broken_at = clock_.now();
  link.returns_within = request_.network.lease.suspect_after;
  link.broken_why = why;
  hands_.on_broken(node, "its connection broke: " + why);
}

// The session that started an agent may end for reasons of its own: as long as the agent itself is
// connected, it lives.
void AgentConnections::on_launcher_lost(base::NodeId node, const launcher::AgentEnd& end) {
  if (is_over_) return hands_.on_left();
  NodeLink& link = nodes_[node];
  if (are_remote() && link.joined && link.channel) {
    link.launcher_lost = end;
  } else {
    lose(node, end);
  }
}

wire::Welcome AgentConnections::welcome_for(base::NodeId node) const {
  wire::Welcome welcome{wire::kProtocolVersion, node, nodes_[node].generation, request_.workers};
  const LeaseTimes& lease = request_.network.lease;
  welcome.heartbeat_interval = lease.interval;
  welcome.incarnation = job_.incarnation();
  // The node's name in all our messages, for programs that mention it.
  welcome.workers.environment.push_back("ROBUSTRUN_NODE=" + nodes_.name(node));
  if (!are_remote()) return welcome;
  if (listener_) welcome.endpoints = listener_->endpoints();
  welcome.silence_max = lease.lost_after;
  welcome.orphan_grace = lease.orphan_grace;
  welcome.workers.log_directory = remote_log_directory(request_, node, nodes_.name(node));
  return welcome;
}

void AgentConnections::beat(base::NodeId node, std::uint64_t number) {
  if (!are_remote()) return;
  nodes_.send(node, wire::Heartbeat{number, clock_.now()});
  const NodeLink& link = nodes_[node];
  if (listener_ && !link.listens.empty() && !link.lost) listener_->call(link.listens);
}

void AgentConnections::lose(base::NodeId node, const launcher::AgentEnd& end) {
  NodeLink& link = nodes_[node];
  if (std::exchange(link.lost, true)) return;
  link.joined = false;
  link.orders.clear();
  if (link.channel) {
    if (are_remote()) link.channel->send(wire::Refused{"given up: " + end.why, true});
    std::exchange(link.channel, nullptr)->close();
  }
  hands_.on_lost(node, AgentLost{end.why, end.node_answers, clock_.now() - link.heard_at,
                                 end.lasting, end.is_bad_input, end.is_gone});
}

void AgentConnections::end() {
  is_over_ = true;
  nodes_.each([](base::NodeId, NodeLink& link) {
    // An agent that has not joined yet was not dismissed: the end of its channel makes it end.
    if (!link.joined && link.channel) std::exchange(link.channel, nullptr)->close();
  });
}

void AgentConnections::leave_to_successor() {
  launcher_.abandon();
  nodes_.each([](base::NodeId, NodeLink& link) {
    if (link.channel) std::exchange(link.channel, nullptr)->close();
  });
}

// Agents that we did not start (volunteers, those of another supervisor) end their connection.
bool AgentConnections::have_left() const {
  bool is_connected = false;
  nodes_.each([&](base::NodeId, const NodeLink& link) { is_connected |= link.channel != nullptr; });
  return launcher_.idle() && !is_connected;
}

}  // namespace robustrun::supervisor
