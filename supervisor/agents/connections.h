#pragma once
// How the agents of a run connect: each is launched, or volunteers; its Hello makes it the agent of
// its node; its connection may break and come back; and it is lost when it is given up. From then
// on it is fenced: its generation is refused, and its workers are its own to kill.
//
// Owned by the driver, on its loop. Messages of agents that do not count go no further.

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
    // Of the agent that counts. Hello, Heartbeat and Bye are to be given to on_report() below.
    std::function<void(base::NodeId, wire::Message)> on_message;
    // After its Hello. `is_again`: it had joined before, and may have missed orders.
    std::function<void(base::NodeId, bool is_again)> on_connected;
    // The connection to an agent on another machine broke; it may come back.
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
    // As in Driver::Parts.
    std::function<void(const std::string& name, std::function<void(std::vector<std::string>)>)>
        look_up{};
    // `robustrun stop` from another machine.
    std::function<void(const wire::StopRun&)> on_stop{};
    const RunAuthority* before = nullptr;  // as of AgentListener::open()
  };
  // Listens for agents of other machines, if there are any.
  base::Status listen(Admission admission);
  // What a supervisor needs to take over from us; none without a listener.
  [[nodiscard]] std::optional<RunAuthority> authority() const;
  // An agent is expected from this address (numeric).
  void expect(const std::string& address);

  void perform(const LaunchAgent& action);
  // The agent had another supervisor. One that had joined is expected to connect, within the time
  // that a silent one has.
  void perform(const AdoptNode& action);
  // An agent of another machine has connected.
  void admit(const wire::PeerName& peer, wire::Hello hello, std::shared_ptr<wire::Channel> channel);
  // A machine asks to join: returns its node and generation, or why it is refused.
  base::Result<std::pair<base::NodeId, base::Generation>> take_volunteer(
      const wire::Enrol& enrol, const wire::ConnectionAddresses& addresses);
  void on_report(base::NodeId node, const wire::Hello& hello);
  void on_report(base::NodeId node, const wire::Heartbeat& heartbeat);
  void on_report(base::NodeId node, const wire::Bye& bye);
  // So that the agent notices when we cannot be heard any more.
  void beat(base::NodeId node, std::uint64_t number);
  void lose(base::NodeId node, const launcher::AgentEnd& end);

  // The run is over: agents that come now are refused, and those that have not joined end.
  void end();
  // The agents obey another supervisor: they must not end with us.
  void leave_to_successor();
  // No process of ours and no connection is left.
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
  std::unique_ptr<AgentListener> listener_;  // null: all agents are on this machine
  bool is_over_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace robustrun::supervisor
