#pragma once
// Where an agent can be called by its peers while it is checked: a TCP port of the data interface.
//
// Whoever does not prove that it belongs to the check within kPeerVisitMax is hung up on and never
// heard of; at most kPeerVisitorsMax at a time, others wait in the kernel. On the loop of its
// executor.

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

class PeerDoor {
 public:
  // A peer that wants to exchange (PeerPurpose::kExchange), proved; the connection is its own.
  using OnExchange = std::function<void(base::NodeId peer, base::Fd connection)>;

  // Listens on any port of `address` (numeric). `self`: calls for anybody else are hung up on.
  // `visit_max`: until a visitor must have proved itself.
  static base::Result<std::unique_ptr<PeerDoor>> open(
      boost::asio::any_io_executor executor, const std::string& address, std::string nonce,
      base::NodeId self, OnExchange on_exchange,
      std::chrono::milliseconds visit_max = kPeerVisitMax);
  virtual ~PeerDoor() = default;   // closed; nobody is handed over any more
  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

}  // namespace robustrun::wire
