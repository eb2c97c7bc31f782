#pragma once
// One call of an agent to a peer's listener during a preflight check, and its outcome
// (wire/tls/peer_proof.h says how both sides prove themselves).
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
    base::Fd connection;      // if reached, for PeerPurpose::kExchange
  };
  using Done = std::function<void(Outcome)>;

  // `nonce`: the secret that all nodes of the check share. `self`: the caller. `within`: how long
  // the whole call may take.
  static std::shared_ptr<OutgoingCall> start(boost::asio::any_io_executor executor,
                                             const Peer& peer, const std::string& nonce,
                                             base::NodeId self, PeerPurpose purpose,
                                             std::chrono::milliseconds within, Done done);
  virtual ~OutgoingCall() = default;
  virtual void drop() = 0;  // `done` is not called any more
};

}  // namespace robustrun::wire
