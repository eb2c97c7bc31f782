#pragma once
// The agent's connection to its supervisor: finds it at one of its endpoints, enrols once, then
// connects with the agent's own certificate whenever asked to.
//
// To be used on the loop of its executor. The endpoints are tried in order, the last successful one
// first, each for at most kConnectMax (TCP) and then kHandshakeMax (TLS); to enrol, once more
// kHandshakeMax for the answer, and then the connection again. The first one with the run's CA wins
// (before the CA is known: the first one that proves the secret).

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "wire/link/channel.h"
#include "wire/messages/enrolment.h"
#include "wire/messages/limits.h"
#include "wire/net/local_addresses.h"
#include "wire/tls/credential.h"
#include "wire/tls/identity.h"

namespace robustrun::wire {

struct DialerLimits {
  std::chrono::milliseconds connect_max = kConnectMax;
  std::chrono::milliseconds handshake_max = kHandshakeMax;
};

class Dialer {
 public:
  struct Connected {
    // Reads nothing until set_handlers(). The code that gets this struct sends Hello over it.
    std::shared_ptr<Channel> channel;
    ConnectionAddresses addresses;
    base::NodeId node;
    base::Generation generation;
    std::string run_id;
    std::string supervisor;  // fingerprint of its certificate, unique to each supervisor
  };
  using Done = std::function<void(base::Result<Connected>)>;

  // `self`: the agent's own data for Enrol (host, slots, node_rank, pid, command_digest; the rest
  // is filled in). Both sides prove that they know the credential's token; without a token they
  // prove by `munge` that they belong to the same user; without either, nothing is proved
  // (--insecure-rdzv).
  static std::unique_ptr<Dialer> make(boost::asio::any_io_executor executor, Credential credential,
                                      Enrol self, MungeProofs munge = {}, DialerLimits limits = {});
  virtual ~Dialer() = default;  // `done` is not called any more

  // Enrols if necessary, then connects. kPermission: refused for good (a newer generation of this
  // agent was started, another run, a wrong secret); kUnavailable, kTimeout: it failed at all
  // endpoints, try again later. One call at a time. A supervisor that no longer wants this agent
  // sends Refused on the channel.
  virtual void connect(Done done) = 0;
  // Connects over `connection`, which another host opened to this agent, if the supervisor of our
  // run is there; otherwise `done` gets an error. Needs a finished enrolment (else kUnavailable).
  // Beyond kAnswersMax at a time the oldest is dropped without its `done`. connect() is not
  // affected. May call `done` before it returns; connect() never does.
  virtual void answer(base::Fd connection, Done done) = 0;
  // Our identity with its certificate, once enrolled.
  [[nodiscard]] virtual const std::optional<Identity>& identity() const = 0;
  // Where the supervisor listens from now on: numeric, with a port. Not empty.
  virtual void set_endpoints(std::vector<std::string> endpoints) = 0;
};

}  // namespace robustrun::wire
