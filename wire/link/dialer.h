#pragma once
// Connects an agent to its supervisor: tries the supervisor's endpoints, enrols once, and then
// connects with the agent's own certificate at every call of connect().
//
// To be used on the loop of its executor. The endpoints are tried in order, beginning with the last
// successful one. Each may take kConnectMax for TCP and kHandshakeMax for TLS. An enrolment may
// take another kHandshakeMax for the answer, and then the agent connects again. The first endpoint
// with a certificate of the run's CA is taken (before the CA is known: the first one that proves
// the secret).

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
    // Reads nothing until set_handlers(). Nothing has been sent yet: the caller of connect() or
    // answer() sends Hello.
    std::shared_ptr<Channel> channel;
    ConnectionAddresses addresses;
    base::NodeId node;
    base::Generation generation;
    std::string run_id;
    // fingerprint of the supervisor's certificate; every supervisor process has its own
    std::string supervisor;
  };
  using Done = std::function<void(base::Result<Connected>)>;

  // `self`: the agent's own data for Enrol (host, slots, node_rank, pid, command_digest; the rest
  // is filled in). Both sides prove that they know the credential's token. Without a token they
  // prove by `munge` that they belong to the same user. With neither, they prove nothing
  // (--insecure-rdzv).
  static std::unique_ptr<Dialer> make(boost::asio::any_io_executor executor, Credential credential,
                                      Enrol self, MungeProofs munge = {}, DialerLimits limits = {});
  virtual ~Dialer() = default;  // `done` is not called any more

  // Enrols if necessary, then connects. kPermission: refused for good (a newer generation of this
  // agent was started, another run, a wrong secret); kUnavailable, kTimeout: all endpoints failed,
  // try again later. One call at a time. Never calls `done` before it returns. A supervisor that no
  // longer wants this agent sends Refused on the channel.
  virtual void connect(Done done) = 0;
  // Connects over `connection`, which another host opened to this agent. `done` gets an error if
  // our run's supervisor is not at the other end (kUnavailable: this agent has not enrolled yet).
  // Of more than kAnswersMax such connections at a time, the oldest is dropped without a call of
  // its `done`. May call `done` before it returns. Independent of connect().
  virtual void answer(base::Fd connection, Done done) = 0;
  // Our identity with its certificate, once enrolled.
  [[nodiscard]] virtual const std::optional<Identity>& identity() const = 0;
  // Where the supervisor listens from now on: numeric, with a port. Not empty.
  virtual void set_endpoints(std::vector<std::string> endpoints) = 0;
};

}  // namespace robustrun::wire
