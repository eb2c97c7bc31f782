#pragma once
// The supervisor's listener: accepts connections over TCP and TLS 1.3, and admits only agents of
// this run.
//
// A peer without a certificate may only send Enrol; it gets Enrolled or Refused, and the connection
// ends. An agent with a certificate of this run's CA sends Hello, and on_agent gets the agent's
// name and channel; the name comes from the certificate, never from a message. A peer with a
// supervisor's certificate sends StopRun. Anything else (no TLS, another CA, garbage, an oversized
// or late first message) ends that one connection and is counted. Of connections that call()
// opened, only refused and late ones are counted.
//
// At most kHandshakesMax connections are pending; further ones wait (wire/net/bounded_listener.h).
// While others wait, silent connections are closed, those without a TLS hello first. Connections
// from addresses of admitted or expected agents have places of their own. A peer must have
// identified itself within kHandshakeMax. To be used on the loop of its executor.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/core/result.h"
#include "wire/link/channel.h"
#include "wire/messages/enrolment.h"
#include "wire/messages/limits.h"
#include "wire/net/local_addresses.h"
#include "wire/tls/identity.h"

namespace robustrun::wire {

struct ListenerCounters {
  std::uint64_t accepted = 0;  // TCP connections
  std::uint64_t enrolled = 0;
  std::uint64_t admitted = 0;  // handed to on_agent
  std::uint64_t refused = 0;  // turned away, broken or too slow
  std::string last_refusal;  // the reason, and the peer's address
};

struct ListenerLimits {
  std::size_t handshakes_max = kHandshakesMax;
  std::chrono::milliseconds handshake_max = kHandshakeMax;
  // How long a silent connection keeps its place while others wait: before its TLS hello (not the
  // message Hello), and after it.
  std::chrono::milliseconds silent_before_hello_max = kSilentBeforeHelloMax;
  std::chrono::milliseconds silent_after_hello_max = kSilentAfterHelloMax;
};

class Listener {
 public:
  struct Handlers {
    // Decides on an enrolment: returns the name for the peer's certificate. An error refuses the
    // peer and sends it the error's text; after kUnavailable and kTimeout the peer may try again.
    std::function<base::Result<PeerName>(const Enrol&, const ConnectionAddresses&)> on_enrol;
    // Receives an admitted agent. The channel reads nothing until set_handlers().
    std::function<void(const PeerName&, const ConnectionAddresses&, Hello,
                       std::shared_ptr<Channel>)>
        on_agent;
    // The run's owner orders its end (StopRun). May be empty: such orders are then refused.
    std::function<void(const StopRun&)> on_stop = {};
    // For agents that prove themselves by munge; empty functions: such agents are refused. Calls
    // may take milliseconds.
    MungeProofs munge = {};
    // Receives a line for the log: for each refusal, at most kRefusalLinesPerMinute, and when
    // descriptors or memory run out. May be empty.
    std::function<void(const std::string&)> on_refused;
  };

  // Listens on `address` (numeric; empty: every interface, IPv6 and IPv4) and `port` (0: a free
  // one). `secret`: proves enrolments (enrolment.h); without it and without munge agents need no
  // proof (--insecure-rdzv). kConflict: the port is taken; the text names the owner's pid if it
  // can be found.
  static base::Result<std::unique_ptr<Listener>> open(boost::asio::any_io_executor executor,
                                                      const std::string& address,
                                                      std::uint16_t port,
                                                      const Authority& authority,
                                                      std::string secret, Handlers handlers,
                                                      ListenerLimits limits = {});
  virtual ~Listener() = default;  // no handler is called any more
  // Connects to an agent that listens at `endpoint` (numeric, with a port), within kConnectMax, and
  // treats the connection as if the agent had opened it. Failure to connect is not reported.
  virtual void call(const std::string& endpoint) = 0;
  // Agents are expected from this address (numeric, as ConnectionAddresses has it). No effect once
  // kKnownAddressesMax addresses are known.
  virtual void expect(const std::string& address) = 0;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  [[nodiscard]] virtual const ListenerCounters& counters() const = 0;
};

}  // namespace robustrun::wire
