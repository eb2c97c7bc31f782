#pragma once
// One call of an agent to a peer's listener, and its outcome.
//
// To be used on the loop of its executor. `done` is called once, from the loop, unless the call is
// dropped first.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/core/node_facts.h"
#include "base/io/fd.h"
#include "wire/messages/preflight.h"
#include "wire/tls/peer_proof.h"

namespace robustrun::wire {

class OutgoingCall {
 public:
  struct Outcome {
    bool reached = false;
    base::Unreached why;      // unless reached
    base::Fd connection;      // for PeerPurpose::kExchange; the receiver of the outcome owns it
  };
  using Done = std::function<void(Outcome)>;

  // `within`: time from the first packet to the peer's answer.
  static std::shared_ptr<OutgoingCall> start(boost::asio::any_io_executor executor,
                                             const Peer& peer, const std::string& nonce,
                                             base::NodeId self, PeerPurpose purpose,
                                             std::chrono::milliseconds within, Done done);
  virtual ~OutgoingCall() = default;
  virtual void drop() = 0;   // `done` is not called any more
};

}  // namespace robustrun::wire
