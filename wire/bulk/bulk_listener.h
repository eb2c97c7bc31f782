#pragma once
// Listens for bulk connections from other agents: a TCP port of the data interface.
//
// A connection is pending until its peer has shown the certificate of a node of the run and has
// sent its request, at most kBulkPendingTimeMax: then it is handed over, with its stream, which is
// for a thread of the receiver. All other connections are closed without a word. At most
// kBulkPendingMax are pending; further ones wait in the kernel. On the loop of its executor.

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

  // Listens on any port of `address` (numeric). `keys`: what shows peers who we are, and proves who
  // they are. `pending_time_max`: until a peer must have sent its request.
  static base::Result<std::unique_ptr<BulkListener>> open(
      boost::asio::any_io_executor executor, const std::string& address, SharedBulkKeys keys,
      OnConnection on_connection, std::chrono::milliseconds pending_time_max = kBulkPendingTimeMax);
  virtual ~BulkListener() = default;  // closed; no connection is handed over any more
  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

}  // namespace robustrun::wire
