#pragma once
// One attempt to reach one endpoint: TCP, then TLS as its client. Private to wire/.
//
// To be used on the loop of its executor. `done` is called once, unless cancel() came first. It is
// never called before start() returns, but perhaps before over() does.

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "wire/link/dialer.h"
#include "wire/net/stream.h"
#include "wire/tls/context.h"
#include "wire/tls/stream.h"

namespace robustrun::wire {

class Dial {
 public:
  struct Reached {
    Connection connection;            // after the handshake
    const TlsStream* tls = nullptr;   // the stream of `connection`
    ConnectionAddresses addresses;
  };
  using Done = std::function<void(base::Result<Reached>)>;

  // kPermission: one side rejects the other's certificate as one of another run. Any other code,
  // such as kTimeout: no supervisor was reached.
  static std::shared_ptr<Dial> start(boost::asio::any_io_executor executor,
                                     const std::string& endpoint,
                                     std::shared_ptr<const TlsContext> context, DialerLimits limits,
                                     Done done);
  // As start(), over a connection that the other side opened. This side is still TLS's client.
  static std::shared_ptr<Dial> over(boost::asio::any_io_executor executor, base::Fd connected,
                                    std::shared_ptr<const TlsContext> context, DialerLimits limits,
                                    Done done);
  virtual ~Dial() = default;
  virtual void cancel() = 0;
};

}  // namespace robustrun::wire
