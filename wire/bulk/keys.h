#pragma once
// The contents of BulkKeys. Private to wire/.

#include <optional>
#include <string>

#include "wire/bulk/stream.h"
#include "wire/tls/context.h"
#include "wire/tls/stream.h"

namespace robustrun::wire {

struct BulkKeys {
  std::string run_id;
  TlsContext caller, callee;
};

// The node that the handshake identified; nullopt: the peer has no certificate, or is not a node of
// the run.
[[nodiscard]] std::optional<PeerName> bulk_peer(const BulkKeys& keys, const TlsStream& tls);

}  // namespace robustrun::wire
