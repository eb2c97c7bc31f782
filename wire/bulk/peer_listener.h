#pragma once
// Listens on a TCP port for calls from other agents during a preflight check.
//
// A connection is pending until its peer has proved that it belongs to the check. If the peer only
// tests reachability, the connection is then closed; if the peer wants to exchange data, it is
// handed over. A peer without a proof is disconnected, at the latest after kPeerPendingTimeMax; if
// others wait, already after kSlotPatience. At most kPeerPendingMax are pending; further ones wait
// in the kernel. To be used on the loop of its executor, which also calls `on_exchange`.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/core/ids.h"
#include "base/core/result.h"
#include "base/io/fd.h"
#include "wire/messages/limits.h"

namespace robustrun::wire {

class PeerListener {
 public:
  // Receives a proven peer that wants to exchange data (PeerPurpose::kExchange), and its
  // connection.
  using OnExchange = std::function<void(base::NodeId peer, base::Fd connection)>;

  // Listens on a free port of `address` (numeric), which port() returns. `nonce`: the secret that
  // all nodes of the check share, and the key of all proofs. `self`: this node; calls to any other
  // node are closed. `pending_time_max`: how long a peer may take to prove itself.
  static base::Result<std::unique_ptr<PeerListener>> open(
      boost::asio::any_io_executor executor, const std::string& address, std::string nonce,
      base::NodeId self, OnExchange on_exchange,
      std::chrono::milliseconds pending_time_max = kPeerPendingTimeMax);
  virtual ~PeerListener() = default;  // closes the port; no connection is handed over any more
  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

}  // namespace robustrun::wire
