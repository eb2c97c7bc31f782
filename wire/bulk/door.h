#pragma once
// Where an agent's peers reach it for bulk data: a TCP port of the data interface.
//
// On the loop of its executor, until a visitor has shown the certificate of a node of the run and
// has said what it wants; then the stream is the receiver's, for a thread. Who has not come so far
// within kBulkVisitMax is hung up on and never heard of; at most kBulkVisitorsMax at a time, others
// wait in the kernel.

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

struct BulkVisitor {
  PeerName peer;
  BulkRequest request;
  std::shared_ptr<BulkStream> stream;
};

class BulkDoor {
 public:
  using OnVisitor = std::function<void(BulkVisitor)>;

  // Listens on any port of `address` (numeric).
  static base::Result<std::unique_ptr<BulkDoor>> open(
      boost::asio::any_io_executor executor, const std::string& address, SharedBulkKeys keys,
      OnVisitor on_visitor, std::chrono::milliseconds visit_max = kBulkVisitMax);
  virtual ~BulkDoor() = default;  // closed; nobody is handed over any more
  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

}  // namespace robustrun::wire
