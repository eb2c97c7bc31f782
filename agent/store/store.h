#pragma once
// A server of torch's TCPStore protocol: the store at MASTER_ADDR:MASTER_PORT through which ranks
// find each other. With torchrun, too, the agent serves it (docs/compat.md, L4). The protocol has
// neither authentication nor encryption: processes of other users on this machine are refused, and
// so are other machines than those of the run, if all of these are known; connections and memory
// are bounded.
//
// To be used on the loop of its executor.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/core/result.h"

namespace robustrun::agent {

class Store {
 public:
  // Numeric addresses without zones, besides those of this machine, whose connections are accepted;
  // nullopt: all.
  using Clients = std::optional<std::set<std::string>>;
  // A client of torch sent a query that this server does not know.
  using OnUnknown = std::function<void(const std::string& what)>;

  // Listens on `port` of all addresses; clients that come before serve() wait. kConflict: the port
  // is in use.
  static base::Result<std::unique_ptr<Store>> listen(boost::asio::any_io_executor executor,
                                                     std::uint16_t port, OnUnknown on_unknown = {});
  // Closes all connections.
  virtual ~Store() = default;
  virtual void serve(Clients clients) = 0;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

}  // namespace robustrun::agent
