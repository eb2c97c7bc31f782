#pragma once
// A server of torch's TCPStore protocol: the store at MASTER_ADDR:MASTER_PORT through which ranks
// find each other. An agent serves it, as under torchrun (docs/compat.md, L4).
//
// The protocol has neither authentication nor encryption. So the store refuses processes of other
// users on this machine and, if the addresses of all nodes are known, machines outside the run.
// Connections and memory are bounded. Used on the loop of `executor`.

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
  // Numeric addresses without zones from which connections are accepted, besides this machine's;
  // nullopt: from all.
  using Clients = std::optional<std::set<std::string>>;
  // Called when a client of torch sent a query that this server does not know; `what` names it.
  using OnUnknown = std::function<void(const std::string& what)>;

  // Listens on `port` of all addresses; clients that come before serve() wait. kConflict: the port
  // is in use.
  static base::Result<std::unique_ptr<Store>> listen(boost::asio::any_io_executor executor,
                                                     std::uint16_t port, OnUnknown on_unknown = {});
  // Closes all connections.
  virtual ~Store() = default;
  virtual void serve(Clients clients) = 0;  // begins to answer
  [[nodiscard]] virtual std::uint16_t port() const = 0;
};

}  // namespace robustrun::agent
