#include "supervisor/agents/agent_listener.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/io/log.h"
#include "base/io/munge.h"
#include "supervisor/limits.h"
#include "wire/link/acceptor.h"
#include "wire/tls/credential.h"

namespace robustrun::supervisor {
base::Result<std::unique_ptr<AgentListener>> AgentListener::open(
    boost::asio::any_io_executor executor, const NetworkPlan& network, Host host,
    const RunAuthority* before) {
  std::unique_ptr<AgentListener> opened(new AgentListener());
  wire::Listener::Handlers handlers;
  const wire::Authority authority =
      RR_TRY(before == nullptr ? wire::Authority::make(network.run_id)
                               : wire::Authority::from_pem(network.run_id, before->authority));
  auto addresses = RR_TRY(wire::local_addresses(network.interface));
  // In each of the two parts, IPv4 stays before IPv6.
  std::ranges::stable_partition(addresses, [&network](const std::string& address) {
    const auto& first = network.first_addresses;
    return std::ranges::find(first, address) != first.end();
  });
  opened->run_id_ = network.run_id;
  // Without a shared secret, the agents that we launch get a token made here. --insecure-rdzv does
  // without any secret.
  if (before != nullptr) {
    opened->secret_ = before->token;
  } else if (network.secret.empty() && !network.insecure) {
    opened->secret_ = wire::make_token();
  } else {
    opened->secret_ = network.secret;
  }
  opened->authority_ = authority.to_pem();
  if (network.munge) {
    handlers.munge = {base::munge_encode, base::munge_check};
  }
  opened->fingerprint_ = authority.fingerprint();
  opened->build_ = network.build;
  opened->count_ = network.count;
  opened->count_interpreter_ = network.count_interpreter;
  opened->interface_ = network.interface;
  opened->command_digest_ = network.command_digest;
  opened->host_ = std::move(host);
  handlers.on_enrol = [self = opened.get()](const wire::Enrol& enrol,
                                            const wire::ConnectionAddresses& from) {
    return self->decide(enrol, from);
  };
  handlers.on_agent = [self = opened.get()](
                          const wire::PeerName& peer, const wire::ConnectionAddresses& from,
                          wire::Hello hello, std::shared_ptr<wire::Channel> channel) {
    // Its workers may be seen under the same address, even if the node itself does not have it.
    if (!hello.addresses.empty()) hello.addresses.emplace_back(wire::without_zone(from.remote));
    self->host_.on_agent(peer, std::move(hello), std::move(channel));
  };
  handlers.on_stop = [self = opened.get()](const wire::StopRun& order) {
    self->host_.on_stop(order);
  };
  handlers.on_refused = [](const std::string& line) { RR_LOG(kWarn, {}, "{}", line); };
  const auto listen = [&](std::uint16_t port) {
    return wire::Listener::open(executor, "", port, authority, opened->secret_, handlers);
  };
  const auto known_port = static_cast<std::uint16_t>(before == nullptr ? 0 : before->port);
  auto listener = listen(before == nullptr ? network.port : known_port);
  if (!listener && before != nullptr && listener.error().code == base::Errc::kConflict) {
    listener = listen(0);
  }
  opened->listener_ = RR_TRY(std::move(listener));
  for (const std::string& address : addresses) {
    if (opened->endpoints_.size() == kEndpointsMax) break;
    opened->endpoints_.push_back(wire::endpoint_text(address, opened->listener_->port()));
  }
  return opened;
}

RunAuthority AgentListener::authority() const {
  return {run_id_, authority_, secret_, port(), endpoints_};
}

std::string AgentListener::credential(base::NodeId node, base::Generation generation) const {
  wire::Credential credential = common_credential();
  credential.node = node;
  credential.generation = generation;
  return wire::to_line(credential);
}

std::string AgentListener::invitation() const { return wire::to_line(common_credential()); }

wire::Credential AgentListener::common_credential() const {
  wire::Credential credential;
  credential.run_id = run_id_;
  credential.token = secret_;
  credential.ca_fingerprint = fingerprint_;
  credential.endpoints = endpoints_;
  credential.build = build_;
  credential.interface = interface_;
  credential.count = count_;
  credential.interpreter = count_interpreter_;
  return credential;
}

base::Result<wire::PeerName> AgentListener::decide(
    const wire::Enrol& enrol, const wire::ConnectionAddresses& addresses) const {
  if (enrol.run_id != run_id_) {
    return base::fail(base::Errc::kPermission,
                      fmt::format("this is run {}, not {}; give the same --rdzv-id everywhere",
                                  run_id_, enrol.run_id));
  }
  if (enrol.node) {
    if (!host_.is_expected(*enrol.node, enrol.generation)) {
      return base::fail(base::Errc::kConflict,
                        fmt::format("agent {} of node {} is not expected: it has joined already, "
                                    "or a newer one was started",
                                    enrol.generation.value, enrol.node->value));
    }
    return wire::PeerName{run_id_, false, *enrol.node, enrol.generation};
  }
  if (!command_digest_.empty() && enrol.command_digest != command_digest_) {
    return base::fail(base::Errc::kConflict,
                      "its script or arguments are not those of this run; start the same command "
                      "on every node");
  }
  const auto place = RR_TRY(host_.take_volunteer(enrol, addresses));
  return wire::PeerName{run_id_, false, place.first, place.second};
}

}  // namespace robustrun::supervisor
