#pragma once
// What BulkKeys is. For wire/*.cpp alone.

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

// The node that has shaken hands; nullopt: it has no certificate, or is none of the run's nodes.
[[nodiscard]] std::optional<PeerName> bulk_peer(const BulkKeys& keys, const TlsStream& tls);

}  // namespace robustrun::wire
