#pragma once
// The agent's way home: finds the supervisor at one of its endpoints, enrols once, and connects
// with its own certificate, as often as it is told to.
//
// On the loop of its executor. The endpoints are tried in order (the one that worked last time
// first), each with kConnectMax; the first one with the run's CA (or, before that is known, the
// first one that proves the secret) wins.

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
    // Reads nothing until set_handlers(); Hello is the receiver's to say.
    std::shared_ptr<Channel> channel;
    ConnectionAddresses addresses;
    base::NodeId node;
    base::Generation generation;
    std::string run_id;
    std::string supervisor;   // fingerprint of its certificate, which no two supervisors share
  };
  using Done = std::function<void(base::Result<Connected>)>;

  // `self`: what to say of ourselves in Enrol (host, slots, node_rank, pid, command_digest; the
  // rest is filled in). Both sides prove the credential's token; without a token, that they are of
  // the same user by `munge`; without both, nothing (--insecure-rdzv).
  static std::unique_ptr<Dialer> make(boost::asio::any_io_executor executor, Credential credential,
                                      Enrol self, MungeProofs munge = {}, DialerLimits limits = {});
  virtual ~Dialer() = default;  // `done` is not called any more

  // Enrols if that was not done yet, then connects. kPermission: refused for good (a newer
  // generation of us was started, another run, a wrong secret); kUnavailable, kTimeout: nobody
  // answered at any endpoint, try again later. One call at a time. A supervisor that does not want
  // this agent any more says Refused on the channel.
  virtual void connect(Done done) = 0;
  // Whoever connected to us instead, over that connection: the supervisor of our run, or nobody
  // (kPermission, kTimeout, kUnavailable). Not before we have enrolled (kUnavailable). Of more than
  // kAnswersMax at a time the oldest is dropped, without its `done`. connect() is not disturbed.
  virtual void answer(base::Fd connection, Done done) = 0;
  // With our certificate, once we have enrolled.
  [[nodiscard]] virtual const std::optional<Identity>& identity() const = 0;
  // Numeric, with a port: where the supervisor listens from now on. Not empty.
  virtual void set_endpoints(std::vector<std::string> endpoints) = 0;
};

}  // namespace robustrun::wire
