#pragma once
// A supervisor's listener and agents that connect to it, on one loop over loopback: for the tests
// of listener and dialer.

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/wire/channel_ends.h"
#include "wire/link/dialer.h"
#include "wire/link/listener.h"
#include "wire/tls/stream.h"

namespace robustrun::test {

inline const std::string kTestSecret = "a secret of the run, of 32 bytes";

struct Server {
  struct Options {
    std::string address = "127.0.0.1";
    std::string secret = kTestSecret;
    wire::ListenerLimits limits = {};
    wire::MungeProofs munge = {};
    std::string authority = {};  // PEM of another server's; empty: its own
  };
  struct Admitted {
    wire::PeerName name;
    wire::ConnectionAddresses addresses;
    wire::Hello hello;
    End end;
  };

  explicit Server(boost::asio::io_context& on_loop) : Server(on_loop, Options()) {}
  Server(boost::asio::io_context& on_loop, Options options, std::uint16_t port = 0)
      : loop(on_loop) {
    if (!options.authority.empty()) {
      authority = wire::Authority::from_pem("run-1", options.authority).value();
    }
    listener = wire::Listener::open(
                   loop.get_executor(), options.address, port, authority, options.secret,
                   {.on_enrol = [this](const wire::Enrol& enrol,
                                       const wire::ConnectionAddresses&) { return decide(enrol); },
                    .on_agent =
                        [this](const wire::PeerName& name, const wire::ConnectionAddresses& where,
                               wire::Hello hello, std::shared_ptr<wire::Channel> channel) {
                          auto agent = std::make_unique<Admitted>(
                              Admitted{name, where, std::move(hello), {}});
                          agent->end.channel = std::move(channel);
                          agent->end.channel->set_handlers(agent->end.handlers());
                          agents.push_back(std::move(agent));
                        },
                    .munge = options.munge,
                    .on_refused = [this](const std::string& line) { lines.push_back(line); }},
                   options.limits)
                   .value();
  }

  base::Result<wire::PeerName> decide(const wire::Enrol& enrol) {
    enrolments.push_back(enrol);
    if (refusal) return std::unexpected(*refusal);
    return wire::PeerName{.run_id = authority.run_id(),
                          .supervisor = false,
                          .node = enrol.node.value_or(base::NodeId{99}),
                          .generation = enrol.generation};
  }

  [[nodiscard]] std::string endpoint() const {
    return "127.0.0.1:" + std::to_string(listener->port());
  }
  // The credential of an agent on node 3.
  [[nodiscard]] wire::Credential credential() const {
    return {.protocol = wire::kProtocolVersion,
            .run_id = authority.run_id(),
            .node = base::NodeId{3},
            .generation = {2},
            .token = kTestSecret,
            .ca_fingerprint = authority.fingerprint(),
            .endpoints = {endpoint()},
            .build = {},
            .interface = {},
            .count = {},
            .interpreter = {}};
  }

  boost::asio::io_context& loop;
  wire::Authority authority = wire::Authority::make("run-1").value();
  std::optional<base::Error> refusal;
  std::vector<wire::Enrol> enrolments;
  std::vector<std::unique_ptr<Admitted>> agents;
  std::vector<std::string> lines;
  std::unique_ptr<wire::Listener> listener;
};

inline wire::Enrol self_example() {
  wire::Enrol self;
  self.host = "node-a";
  self.pid = 4711;
  return self;
}

inline wire::Hello hello_example() {
  wire::Hello hello;
  hello.host = "node-a";
  hello.pid = 4711;
  return hello;
}

// An agent: dials, and sends Hello once it is connected.
struct Caller {
  boost::asio::io_context& loop;
  std::unique_ptr<wire::Dialer> dialer;
  std::optional<base::Result<wire::Dialer::Connected>> result;
  End end;
  bool says_hello = true;

  Caller(boost::asio::io_context& on_loop, wire::Credential credential,
         wire::Enrol self = self_example(), wire::MungeProofs munge = {},
         wire::DialerLimits limits = {})
      : loop(on_loop),
        dialer(wire::Dialer::make(loop.get_executor(), std::move(credential), std::move(self),
                                  std::move(munge), limits)) {}

  void dial() {
    result.reset();
    dialer->connect([this](base::Result<wire::Dialer::Connected> connected) {
      CHECK_FALSE(result);
      result.emplace(std::move(connected));
      if (!*result) return;
      end.channel = (*result)->channel;
      end.channel->set_handlers(end.handlers());
      if (says_hello) end.channel->send(hello_example());
    });
  }
  // Dials; true when it connected.
  bool call() {
    dial();
    REQUIRE(run_until(loop, [this] { return result.has_value(); }));
    return result->has_value();
  }
  [[nodiscard]] const base::Error& error() const { return result->error(); }
};

// A peer that speaks TLS to the listener, then whatever the test sends.
struct Stranger {
  End end;
  wire::TlsStream* tls = nullptr;

  Stranger(boost::asio::io_context& loop, std::uint16_t port, const wire::TlsContext& context);
  // A client context that trusts every server.
  static wire::TlsContext context(const std::optional<wire::Identity>& identity = {});
};

// A blocking TCP connection to 127.0.0.1, from `source`.
base::Fd tcp_to(std::uint16_t port, const std::string& source = "127.0.0.1");
// An agent's identity in `authority`'s run.
wire::Identity identity_of(const wire::Authority& authority, const wire::PeerName& name);

// Waits until the listener has refused `count` connections; false if it does not soon.
bool refused(Server& server, std::uint64_t count = 1);
// Checks that a proper agent is still admitted.
void check_still_admits(Server& server);
bool is_closed(const base::Fd& fd);

}  // namespace robustrun::test
