#pragma once
// One try at one endpoint: TCP, then TLS as its client. For wire/*.cpp alone.
//
// On the loop of its executor; `done` comes once and from the loop, unless cancel() was first.

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
    Connection connection;            // has shaken hands
    const TlsStream* tls = nullptr;   // the connection's
    ConnectionAddresses addresses;
  };
  using Done = std::function<void(base::Result<Reached>)>;

  // kPermission: somebody else's supervisor; kTimeout; everything else: cannot be reached.
  static std::shared_ptr<Dial> start(boost::asio::any_io_executor executor,
                                     const std::string& endpoint,
                                     std::shared_ptr<const TlsContext> context, DialerLimits limits,
                                     Done done);
  // The same over a connection that somebody else made: we speak first all the same.
  static std::shared_ptr<Dial> over(boost::asio::any_io_executor executor, base::Fd connected,
                                    std::shared_ptr<const TlsContext> context, DialerLimits limits,
                                    Done done);
  virtual ~Dial() = default;
  virtual void cancel() = 0;
};

}  // namespace robustrun::wire
