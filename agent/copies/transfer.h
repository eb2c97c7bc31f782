#pragma once
// Transfers copies of ranks' states between nodes (docs/formats/bulk.md). Blocks: for threads of a
// pool. Neither the worker that wrote a copy nor the peer that sends it is trusted: the receiver
// checks the checksums of header, description and every shard.

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

// Sends the copy `found` to its keeper `peer`. `round`: the round to which the copy belongs;
// nullopt: none. kConflict: the worker has begun to overwrite the copy, or the peer is busy.
// kNotFound: the peer does not expect the copy. kLimit: the peer has no room. kCorrupt: the copy
// arrived damaged. Any other error: the connection failed.
base::Status send_copy(const CopyPeer& peer, base::Rank rank, const CopyView::Found& found,
                       const std::optional<wire::BulkRound>& round, wire::BulkPace& pace,
                       wire::BulkStream& stream);

// Receives the description of the round, which precedes a copy.
base::Result<wire::BulkRound> receive_round(wire::BulkStream& stream);

// Receives a copy of `bytes` into `slot`. After an error the slot holds no copy; but if not even
// the header came, its previous copy is still there.
base::Status receive_copy(wire::BulkStream& stream, std::span<char> slot, std::uint64_t bytes);
base::Status answer_bulk(wire::BulkStream& stream, const wire::BulkAnswer& answer);

// Answers a peer that asks for copies: sends the complete copies in `given`, newest first, at most
// kBulkCopiesMax. Copies that are also on disk are preferred, because training resumes from one of
// them.
base::Status serve_copies(wire::BulkStream& stream, const GivenMemory& given);
// Fetches the copies of `rank` from `peer` into new memory. Succeeds if at least the newest copy
// arrives. kNotFound: the peer has no copies. kConflict: the peer is busy with them. `with_board`:
// as in reserve_area().
base::Result<GivenMemory> fetch_copies(const CopyPeer& peer, base::Rank rank, bool with_board,
                                       wire::BulkStream& stream);

}  // namespace robustrun::agent
