#pragma once
// Listens on a TCP port for bulk connections from other agents.
//
// A connection is pending until its peer has shown the certificate of a node of the run and has
// sent its request. It is then handed over with its stream, which blocks and is meant for another
// thread. All other connections are closed without an answer, at the latest after
// kBulkPendingTimeMax; if others wait, already after kSlotPatience. At most kBulkPendingMax are
// pending; further ones wait in the kernel. To be used on the loop of its executor, which also
// calls `on_connection`.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/core/result.h"
#include "wire/bulk/request.h"
#include "wire/bulk/stream.h"
#include "wire/messages/limits.h"

namespace robustrun::wire {

struct BulkConnection {
  PeerName peer;
  BulkRequest request;
  std::shared_ptr<BulkStream> stream;
};

class BulkListener {
 public:
  using OnConnection = std::function<void(BulkConnection)>;

  // Listens on a free port of `address` (numeric), which port() returns. `keys`: our certificate,
  // and the authority that must have issued the peer's. `pending_time_max`: how long a peer may
  // take until its request is complete.
  static base::Result<std::unique_ptr<BulkListener>> open(
      boost::asio::any_io_executor executor, const std::string& address, SharedBulkKeys keys,
      OnConnection on_connection, std::chrono::milliseconds pending_time_max = kBulkPendingTimeMax);
  virtual ~BulkListener() = default;  // closes the port; no connection is handed over any more
  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

}  // namespace robustrun::wire
