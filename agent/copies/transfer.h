#pragma once
// One copy of a rank's state from node to node (docs/formats/bulk.md). Blocks; for threads of a
// pool. Neither the worker that wrote a copy nor the peer that sends one is trusted: what counts
// as a copy has the right checksums of header, description and every shard.

#include <optional>
#include <string>

#include "agent/copies/memory.h"
#include "base/core/ids.h"
#include "base/core/result.h"
#include "checkpoint/memory/memory_area.h"
#include "wire/bulk/pace.h"
#include "wire/bulk/request.h"
#include "wire/bulk/stream.h"

namespace robustrun::agent {

struct CopyPeer {
  wire::SharedBulkKeys keys;
  std::string endpoint;
  wire::PeerName name;
};

// Its copy `found` to a peer that keeps it, perhaps for a round. kConflict: the worker began to
// overwrite it meanwhile, or the peer is busy; kNotFound: the peer does not expect it; kLimit: it
// has no room; else the connection failed.
base::Status send_copy(const CopyPeer& peer, base::Rank rank, const CopyView::Found& found,
                       const std::optional<wire::BulkRound>& round, wire::BulkPace& pace,
                       wire::BulkStream& stream);

// What comes before the copy of a round.
base::Result<wire::BulkRound> receive_round(wire::BulkStream& stream);

// What such a peer sends, into `slot`; then the slot has that copy, else it has none.
base::Status receive_copy(wire::BulkStream& stream, std::span<char> slot, std::uint64_t bytes);
base::Status answer_bulk(wire::BulkStream& stream, const wire::BulkAnswer& answer);

// The newest complete copies, as many as an answer can name, to a peer that has asked for them;
// those that are on disk, too, before others: a resumption is from one of these.
base::Status serve_copies(wire::BulkStream& stream, const GivenMemory& given);
// And as that peer: new memory that has them, or at least the newest. kNotFound: it has none.
// `with_board`: as in reserve_area().
base::Result<GivenMemory> fetch_copies(const CopyPeer& peer, base::Rank rank, bool with_board,
                                       wire::BulkStream& stream);

}  // namespace robustrun::agent
