#pragma once
// The agent's connection to its supervisor: a socket pair on one machine, TLS otherwise
// (wire/link/dialer.h).
//
// If a TLS connection breaks, or the supervisor is silent for `silence_max`, the link connects
// again and repeats the reports of the current attempt, which may have been lost. It gives up if
// - the supervisor refuses this agent for good, for example because another agent took its place,
// - there was no connection for `orphan_grace`, or
// - there is no connection and the workers make no progress for kIdleWithoutSupervisorMax.
//
// A closed socket pair is final: its supervisor cannot come back. Used on the agent's loop.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/io/fd.h"
#include "wire/link/channel.h"
#include "wire/link/dialer.h"
#include "wire/tls/identity.h"

namespace robustrun::agent {

class SupervisorLink {
 public:
  struct Handlers {
    std::function<void(wire::Message)> on_message;
    // congested() is false again, so bulk output may be sent. Also called when a connection breaks
    // or begins; output that is sent without one never reaches the supervisor.
    std::function<void()> on_drained;
    // The supervisor is lost for good: the agent must kill everything and leave. Over a network,
    // kUnavailable: it cannot be reached; other errors: it has refused this agent.
    std::function<void(const base::Error&)> on_given_up;
  };
  struct Limits {
    base::Nanos orphan_grace{};  // longest time without a connection
    base::Nanos silence_max{};  // longest silence of the supervisor; 0: no limit
  };

  static std::unique_ptr<SupervisorLink> over_socket(boost::asio::any_io_executor executor,
                                                     base::Fd socket, Handlers handlers);
  struct Network {
    wire::Hello hello;  // sent on every connection, with this node's address filled in
    std::string interface;  // with that address; empty: the connection's address is used
    base::Nanos first_contact_max{};  // how long to try to reach the first supervisor
    // Finds out where the supervisor listens now, and calls `done` once from the loop; without
    // endpoints, the known ones are tried again. Called before each further try to reach the first
    // supervisor, because its name may lead to another machine by then. May be empty.
    using Found = std::function<void(std::vector<std::string> endpoints)>;
    std::function<void(Found done)> look_up{};
    // Called once, if the first supervisor is not reached within some seconds. May be empty.
    std::function<void(const std::string& why)> on_late{};
    // Opens a listener for peers at `address`, with the identity `self`. Returns the listener's
    // endpoint; empty: it could not be opened.
    std::function<std::string(const std::string& run_id, const wire::Identity& self,
                              const std::string& address)>
        open_bulk{};
  };
  static std::unique_ptr<SupervisorLink> over_network(boost::asio::any_io_executor executor,
                                                      const base::Clock& clock,
                                                      std::unique_ptr<wire::Dialer> dialer,
                                                      Network network, Handlers handlers);
  virtual ~SupervisorLink() = default;

  // Over a network, reports of the current attempt and the newest SavingOver messages of any
  // attempt are kept and repeated on the next connection. Of the findings, stages and notes about
  // checkpoints that are sent without a connection, the first kUndeliveredMax go out on the next
  // one. Other messages without a connection are lost.
  virtual void send(const wire::Message& message) = 0;
  [[nodiscard]] virtual bool congested() const = 0;
  // To be called when the supervisor has welcomed this agent. Over a socket pair without effect.
  virtual void set_limits(const Limits& limits) = 0;
  // An attempt begins: kept reports of the previous one are dropped. `ordered_by`: incarnation of
  // the supervisor that ordered the attempt; 0: unknown.
  virtual void begin_attempt(base::Attempt attempt, std::uint32_t ordered_by) = 0;
  // The workers made progress just now.
  virtual void note_progress() = 0;
  // Writes the queued messages and closes; the returned channel expires when that is done. No
  // handler is called any more.
  virtual std::weak_ptr<wire::Channel> close() = 0;
};

}  // namespace robustrun::agent
