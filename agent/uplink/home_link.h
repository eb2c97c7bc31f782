#pragma once
// The agent's line to its supervisor: a socket pair on one machine, else TLS (wire/link/dialer.h).
//
// A broken TLS connection, or a supervisor that says nothing for `silence_max`, is not the end:
// the link connects again, and says again what may have been lost (the reports of the current
// attempt). It gives up when the supervisor refuses us for good (somebody took our place), when
// the grace is over, or when the workers have made no progress for kIdleWithoutHomeMax.
// A closed socket pair is the end at once: its supervisor cannot come back.
// On the agent's loop.

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/core/clock.h"
#include "base/io/fd.h"
#include "wire/link/channel.h"
#include "wire/link/dialer.h"
#include "wire/tls/identity.h"

namespace robustrun::agent {

class HomeLink {
 public:
  struct Handlers {
    std::function<void(wire::Message)> on_message;
    std::function<void()> on_drained;   // may send bulk again
    // Alone for good: kill everything and leave. Why, in words.
    std::function<void(const std::string&)> on_alone;
  };
  struct Limits {
    base::Nanos orphan_grace{};
    base::Nanos silence_max{};          // 0: never silent for too long
  };

  static std::unique_ptr<HomeLink> over_socket(boost::asio::any_io_executor executor,
                                               base::Fd socket, Handlers handlers);
  struct Caller {
    wire::Hello hello;                  // said on every connection, with its address filled in
    std::string interface;              // whose address that is; empty: the connection's
    base::Nanos first_contact_max{};    // how long to try before anybody was reached
    // Where peers reach us with this identity at that address; empty: nowhere.
    std::function<std::string(const std::string& run_id, const wire::Identity& self,
                              const std::string& address)>
        open_bulk{};
  };
  static std::unique_ptr<HomeLink> over_network(boost::asio::any_io_executor executor,
                                                const base::Clock& clock,
                                                std::unique_ptr<wire::Dialer> dialer, Caller caller,
                                                Handlers handlers);
  virtual ~HomeLink() = default;

  // Reports of the current attempt are kept and said again after a broken connection; so is what is
  // noticed about this machine meanwhile.
  virtual void send(const wire::Message& message) = 0;
  [[nodiscard]] virtual bool congested() const = 0;
  // The supervisor welcomed us: from now on it may be away for a while.
  virtual void set_limits(const Limits& limits) = 0;
  // An attempt begins: reports of the one before are of no interest any more.
  virtual void begin_attempt(base::Attempt attempt, std::uint32_t ordered_by) = 0;
  // The workers made progress just now.
  virtual void note_progress() = 0;
  // Writes what is queued and ends; expired() then says when that is done. No handler is called.
  virtual std::weak_ptr<wire::Channel> close() = 0;
};

}  // namespace robustrun::agent
