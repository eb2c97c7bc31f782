#pragma once
// Sends one copy of a rank's state between nodes (docs/formats/bulk.md). Blocks; for threads of a
// pool. Neither the worker that wrote a copy nor the peer that sends it is trusted: a copy counts
// only if the checksums of header, description and every shard are right.

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

// Sends the copy `found` to a peer that is to keep it. `round`: the round to which the copy
// belongs; nullopt: none. kConflict: the worker began to overwrite it meanwhile, or the peer is
// busy; kNotFound: the peer does not expect it; kLimit: the peer has no room; kCorrupt: it did not
// arrive whole; else the connection failed.
base::Status send_copy(const CopyPeer& peer, base::Rank rank, const CopyView::Found& found,
                       const std::optional<wire::BulkRound>& round, wire::BulkPace& pace,
                       wire::BulkStream& stream);

// Receives the description that precedes the copy of a round.
base::Result<wire::BulkRound> receive_round(wire::BulkStream& stream);

// Receives a copy into `slot`; the slot then holds that copy, or none, or, if not even a header
// came, what it held before.
base::Status receive_copy(wire::BulkStream& stream, std::span<char> slot, std::uint64_t bytes);
base::Status answer_bulk(wire::BulkStream& stream, const wire::BulkAnswer& answer);

// Answers a peer that asks for copies: sends the complete ones, newest first. If there are more
// than an answer can name, those that are on disk as well are chosen before others, because a
// resume starts from one of them.
base::Status serve_copies(wire::BulkStream& stream, const GivenMemory& given);
// Fetches such copies from `peer` into new memory: all of them, or at least the newest. kNotFound:
// the peer has none. `with_board`: as in reserve_area().
base::Result<GivenMemory> fetch_copies(const CopyPeer& peer, base::Rank rank, bool with_board,
                                       wire::BulkStream& stream);

}  // namespace robustrun::agent
