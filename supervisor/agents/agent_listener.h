#pragma once
// Admission of agents that connect over the network: the run's certificate authority, its listener,
// and the credential that each launched agent gets (wire/tls/credential.h).
//
// One per run with such agents, on the driver's loop. Its Host decides which agents are admitted.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "supervisor/run_dir/run_authority.h"
#include "supervisor/run_request.h"
#include "wire/link/listener.h"
#include "wire/tls/credential.h"

namespace robustrun::supervisor {

class AgentListener {
 public:
  struct Host {
    // Whether we launched this agent and have not received its Hello yet.
    std::function<bool(base::NodeId, base::Generation)> is_expected;
    // A machine asks to join (rendezvous): returns its node and generation, or why it is refused.
    std::function<base::Result<std::pair<base::NodeId, base::Generation>>(
        const wire::Enrol&, const wire::ConnectionAddresses&)>
        take_volunteer;
    std::function<void(const wire::PeerName&, wire::Hello, std::shared_ptr<wire::Channel>)>
        on_agent;
    // `robustrun stop` from another machine.
    std::function<void(const wire::StopRun&)> on_stop;
  };

  // `before`: the authority of the run's earlier supervisor, which the agents trust; null: there
  // was no earlier supervisor. With `before`, the listener takes that supervisor's port, or any
  // free one if the port is in use.
  static base::Result<std::unique_ptr<AgentListener>> open(boost::asio::any_io_executor executor,
                                                           const NetworkPlan& network, Host host,
                                                           const RunAuthority* before = nullptr);

  // What a supervisor needs to take the run over from this one.
  [[nodiscard]] RunAuthority authority() const;

  // The line that a launched agent reads from its standard input.
  [[nodiscard]] std::string credential(base::NodeId node, base::Generation generation) const;
  // The same line, without node and generation, for machines that join by themselves.
  [[nodiscard]] std::string invitation() const;
  [[nodiscard]] const wire::ListenerCounters& counters() const { return listener_->counters(); }
  [[nodiscard]] std::uint16_t port() const { return listener_->port(); }
  // Our addresses: numeric, with the port.
  [[nodiscard]] const std::vector<std::string>& endpoints() const { return endpoints_; }
  // Connects to an agent that listens at `endpoint` (wire::Hello::listens), because the agent does
  // not know our address.
  void call(const std::string& endpoint) { listener_->call(endpoint); }
  // An agent is expected from this numeric address: connections from unknown addresses do not delay
  // it.
  void expect(const std::string& address) { listener_->expect(address); }

 private:
  AgentListener() = default;
  [[nodiscard]] wire::Credential common_credential() const;
  base::Result<wire::PeerName> decide(const wire::Enrol& enrol,
                                      const wire::ConnectionAddresses& addresses) const;

  std::string run_id_;
  std::string authority_;  // PEM, with the key
  std::string secret_;
  std::string fingerprint_;
  std::string build_;
  std::string count_, count_interpreter_;
  std::string interface_;
  std::string command_digest_;
  std::vector<std::string> endpoints_;
  Host host_;
  std::unique_ptr<wire::Listener> listener_;
};

}  // namespace robustrun::supervisor
