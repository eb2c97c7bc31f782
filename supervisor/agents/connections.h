#pragma once
// The connections of a run's agents. An agent is launched, or it volunteers. Its Hello makes it the
// agent of its node. Its connection may break and come back. An agent that is given up is lost: its
// generation is refused from then on, and it has to kill its workers itself.
//
// Owned by the driver, on its loop. Messages from an earlier generation of an agent are dropped.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "launcher/agent_launcher.h"
#include "supervisor/agents/agent_listener.h"
#include "supervisor/agents/node_table.h"
#include "supervisor/core/job/job.h"
#include "supervisor/core/types/actions.h"
#include "supervisor/run_request.h"

namespace robustrun::supervisor {

inline constexpr const char* kUsedByAnother =
    "another supervisor, which this one has followed, uses it";

class AgentConnections {
 public:
  // All outlive this object.
  struct Sources {
    const RunRequest& request;
    const Job& job;
    NodeTable& nodes;
    launcher::AgentLauncher& launcher;
  };
  struct Hands {
    std::function<void(EventBody, base::NodeId)> on_event;
    // A message from the node's current agent. Hello, Heartbeat and Bye must be passed to
    // on_report().
    std::function<void(base::NodeId, wire::Message)> on_message;
    // The agent's Hello was accepted. `is_again`: it had joined before, and may have missed orders.
    std::function<void(base::NodeId, bool is_again)> on_connected;
    // The connection to an agent over the network broke; it may come back.
    std::function<void(base::NodeId, const std::string& why)> on_broken;
    std::function<void(base::NodeId, AgentLost)> on_lost;
    // After end(): a connection or an agent's process has ended.
    std::function<void()> on_left;
  };
  AgentConnections(boost::asio::any_io_executor executor, const base::Clock& clock,
                   const Sources& sources, Hands hands);
  ~AgentConnections();
  AgentConnections(const AgentConnections&) = delete;
  AgentConnections& operator=(const AgentConnections&) = delete;

  struct Admission {
    // Looks up the numeric addresses of a host (empty: the host is unknown), and answers once, from
    // the loop. Null: no hosts are named.
    std::function<void(const std::string& name, std::function<void(std::vector<std::string>)>)>
        look_up{};
    // `robustrun stop` from another machine.
    std::function<void(const wire::StopRun&)> on_stop{};
    // The authority of the run's earlier supervisor; null: there was no earlier supervisor.
    const RunAuthority* before = nullptr;
  };
  // Listens, if the run's agents connect over the network.
  base::Status listen(Admission admission);
  // What a supervisor needs to take the run over from this one; nullopt without a listener.
  [[nodiscard]] std::optional<RunAuthority> authority() const;
  // An agent is expected from this numeric address.
  void expect(const std::string& address);

  void perform(const LaunchAgent& action);
  // Takes over a node of an earlier supervisor. If its agent had joined, the agent must connect
  // over the network within LeaseTimes::lost_after. In a run without a network it is lost at once.
  void perform(const AdoptNode& action);
  // An agent has connected over the network.
  void admit(const wire::PeerName& peer, wire::Hello hello, std::shared_ptr<wire::Channel> channel);
  // A machine asks to join: returns its node and generation, or why it is refused.
  base::Result<std::pair<base::NodeId, base::Generation>> take_volunteer(
      const wire::Enrol& enrol, const wire::ConnectionAddresses& addresses);
  void on_report(base::NodeId node, const wire::Hello& hello);
  void on_report(base::NodeId node, const wire::Heartbeat& heartbeat);
  void on_report(base::NodeId node, const wire::Bye& bye);
  // Sends a heartbeat, by whose absence an agent notices that it cannot hear the supervisor.
  void beat(base::NodeId node, std::uint64_t number);
  void lose(base::NodeId node, const launcher::AgentEnd& end);

  // The run is over. Agents that connect from now on are refused. The connections of those that
  // have not joined are closed, so these agents end.
  void end();
  // The agents obey another supervisor. Closes their connections, and lets them outlive this
  // process.
  void leave_to_successor();
  // Whether no launched agent and no connection is left.
  [[nodiscard]] bool have_left() const;

 private:
  [[nodiscard]] bool are_remote() const { return nodes_.keeps_orders(); }
  [[nodiscard]] bool is_current(base::NodeId node, base::Generation generation) const;
  void expect_hosts();
  void look_up_host(std::size_t index);
  [[nodiscard]] wire::Channel::Handlers handlers_for(base::NodeId node,
                                                     base::Generation generation);
  void on_channel(base::NodeId node, base::Generation generation, base::Fd socket);
  void on_message(base::NodeId node, base::Generation generation, wire::Message message);
  void on_channel_closed(base::NodeId node, const std::string& why);
  void on_launcher_lost(base::NodeId node, const launcher::AgentEnd& end);
  [[nodiscard]] wire::Welcome welcome_for(base::NodeId node) const;
  void note_clock(NodeLink& link, base::Nanos theirs) const;

  const boost::asio::any_io_executor executor_;
  const base::Clock& clock_;
  const RunRequest& request_;
  const Job& job_;
  NodeTable& nodes_;
  launcher::AgentLauncher& launcher_;
  const Hands hands_;
  Admission admission_;
  std::unique_ptr<AgentListener> listener_;  // null: no agent connects over the network
  bool is_over_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace robustrun::supervisor
