#pragma once
// What many TLS connections share: our identity, and whom we believe. For wire/*.cpp alone.
//
// TLS 1.3 alone, no session tickets (every connection proves itself), buffers only while bytes
// are under way. One of them serves all connections of a listener: making one costs more than a
// handshake.

#include <optional>
#include <string>

#include "base/core/result.h"
#include "wire/messages/openssl_values.h"
#include "wire/tls/identity.h"

namespace robustrun::wire {

class TlsContext {
 public:
  // Peers may have no certificate; one that they have must be of `identity.authority`.
  [[nodiscard]] static base::Result<TlsContext> server(const Identity& identity);

  // The peer must be the supervisor of `run_id`, certified by the authority with this
  // fingerprint. An empty fingerprint: any peer will do, because something else is going to prove
  // who it is (enrolment.h).
  struct Expected {
    std::string run_id;
    std::string authority_fingerprint;
  };
  [[nodiscard]] static base::Result<TlsContext> client(const std::optional<Identity>& identity,
                                                       Expected expected);

  // As a client of another agent: whoever has a certificate of `identity.authority`; its name is
  // the caller's to look at.
  [[nodiscard]] static base::Result<TlsContext> peer(const Identity& identity);

  [[nodiscard]] SSL_CTX* get() const { return context_.get(); }

 private:
  TlsContext() = default;
  ContextPtr context_;
};

}  // namespace robustrun::wire
