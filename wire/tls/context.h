#pragma once
// What many TLS connections share: our identity, and which peers are trusted. Internal to wire/.
//
// TLS 1.3 only, without session tickets, so that every connection proves itself. Buffers exist only
// while bytes are under way. One context serves all connections of a listener, because making a
// context costs more than a handshake.

#include <optional>
#include <string>

#include "base/core/result.h"
#include "wire/messages/openssl_values.h"
#include "wire/tls/identity.h"

namespace robustrun::wire {

class TlsContext {
 public:
  // For a server. A peer need not show a certificate; if it does, `identity.authority` must have
  // issued it.
  [[nodiscard]] static base::Result<TlsContext> server(const Identity& identity);

  // For a client of the supervisor. The peer must be the supervisor of `run_id`, certified by the
  // authority with this fingerprint. An empty fingerprint accepts any peer: the enrolment then
  // proves its identity (enrolment.h).
  struct Expected {
    std::string run_id;
    std::string authority_fingerprint;
  };
  [[nodiscard]] static base::Result<TlsContext> client(const std::optional<Identity>& identity,
                                                       Expected expected);

  // For a client of another agent. Accepts any certificate issued by `identity.authority`; the
  // caller checks the name in it.
  [[nodiscard]] static base::Result<TlsContext> peer(const Identity& identity);

  [[nodiscard]] SSL_CTX* get() const { return context_.get(); }

 private:
  TlsContext() = default;
  ContextPtr context_;
};

}  // namespace robustrun::wire
