#include "agent/copies/transfer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <utility>

#include "agent/copies/limits.h"
#include "base/core/clock.h"
#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/limits.h"

namespace robustrun::agent {
namespace {

using base::Errc;
using base::fail;
using base::Result;
using base::Status;
using checkpoint::SlotState;
using wire::BulkAnswer;
using wire::BulkVerdict;

constexpr std::size_t kStateAt = 12;  // docs/formats/memory-copy.md

// A peer that is slower than the slowest network is given up.
void give_time(wire::BulkStream& stream, std::uint64_t bytes) {
  const base::SystemClock clock;
  const auto slow = std::chrono::milliseconds(bytes / (kCopiesSlowest / 1000));
  stream.set_deadline(clock.now() + base::Nanos(kCopiesPatience) + slow);
}

Result<BulkAnswer> receive_answer(wire::BulkStream& stream) {
  std::array<char, wire::kBulkAnswerBytes> bytes{};
  RR_TRY(stream.receive(bytes));
  return wire::parse_bulk_answer({bytes.data(), bytes.size()});
}

Status status_of(BulkVerdict verdict) {
  switch (verdict) {
    case BulkVerdict::kGo:
    case BulkVerdict::kKept: return {};
    case BulkVerdict::kNone: return fail(Errc::kNotFound, "the peer does not know of that copy");
    case BulkVerdict::kBusy: return fail(Errc::kConflict, "the peer is busy with that copy");
    case BulkVerdict::kNoRoom: return fail(Errc::kLimit, "the peer has too little memory");
    case BulkVerdict::kDamaged: break;
  }
  return fail(Errc::kCorrupt, "the copy did not arrive whole");
}

// Sent in pieces; between them it is checked whether the worker has begun the next copy there.
Status send_slot(wire::BulkStream& stream, const CopyView::Found& found, wire::BulkPace* pace) {
  const base::SystemClock clock;
  for (std::uint64_t at = 0; at < found.bytes; at += kCopyPieceBytes) {
    if (!CopyView::is_unchanged(found)) {
      return fail(Errc::kConflict, "the copy was overwritten while it was sent");
    }
    const std::uint64_t piece = std::min(kCopyPieceBytes, found.bytes - at);
    RR_TRY(stream.send({found.slot.data() + at, piece}));
    if (pace != nullptr) RR_TRY(stream.rest(pace->take(piece, clock.now())));
  }
  return {};
}

// Neither the worker that wrote it nor the way here is trusted.
Status check_whole(std::span<const char> slot, std::uint64_t bytes) {
  checkpoint::MemoryCopy copy = RR_TRY(checkpoint::read_slot(slot));
  const std::vector<std::uint64_t> offsets = copy.offsets;
  const auto planned = checkpoint::plan_slot(copy);
  if (!planned || *planned != bytes || copy.offsets != offsets) {
    return fail(Errc::kCorrupt, "the copy is longer or shorter than it says");
  }
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const checkpoint::Shard& shard = copy.manifest.shards[i];
    if (checkpoint::crc32c({slot.data() + offsets[i], shard.bytes}) != shard.crc) {
      return fail(Errc::kCorrupt, "a tensor of the copy is damaged");
    }
  }
  return {};
}

}  // namespace

Status send_copy(const CopyPeer& peer, base::Rank rank, const CopyView::Found& found,
                 const std::optional<wire::BulkRound>& round, wire::BulkPace& pace,
                 wire::BulkStream& stream) {
  give_time(stream, found.bytes);
  RR_TRY(stream.connect(*peer.keys, peer.endpoint, peer.name));
  const auto purpose = round ? wire::BulkPurpose::kKeepRound : wire::BulkPurpose::kKeep;
  RR_TRY(stream.send(to_bytes(wire::BulkRequest{purpose, rank, found.bytes, found.slot.size()})));
  BulkAnswer answer = RR_TRY(receive_answer(stream));
  RR_TRY(status_of(answer.verdict));
  if (round) RR_TRY(stream.send(to_bytes(*round)));
  RR_TRY(send_slot(stream, found, &pace));
  answer = RR_TRY(receive_answer(stream));
  return status_of(answer.verdict);
}

Result<wire::BulkRound> receive_round(wire::BulkStream& stream) {
  give_time(stream, wire::kBulkRoundBytes);
  std::array<char, wire::kBulkRoundBytes> bytes{};
  RR_TRY(stream.receive(bytes));
  return wire::parse_bulk_round({bytes.data(), bytes.size()});
}

Status receive_copy(wire::BulkStream& stream, std::span<char> slot, std::uint64_t bytes) {
  std::array<char, checkpoint::kSlotHeaderBytes> header{};
  if (bytes < header.size() || bytes > slot.size()) {
    return fail(Errc::kCorrupt, "no copy has that size");
  }
  give_time(stream, bytes);
  RR_TRY(stream.receive(header));
  checkpoint::open_slot(slot);
  RR_TRY(stream.receive(slot.subspan(header.size(), bytes - header.size())));
  std::uint32_t state = 0;
  std::memcpy(&state, header.data() + kStateAt, sizeof state);
  std::memcpy(slot.data(), header.data(), kStateAt);
  std::memcpy(slot.data() + kStateAt + sizeof state, header.data() + kStateAt + sizeof state,
              header.size() - kStateAt - sizeof state);
  // The slot is aligned to pages. Its readers check the copy as is done here.
  std::atomic_ref(*reinterpret_cast<std::uint32_t*>(slot.data() + kStateAt))
      .store(state, std::memory_order_release);
  Status whole = check_whole(slot, bytes);
  if (!whole) checkpoint::open_slot(slot);
  return whole;
}

Status answer_bulk(wire::BulkStream& stream, const BulkAnswer& answer) {
  return stream.send(to_bytes(answer));
}

Status serve_copies(wire::BulkStream& stream, const GivenMemory& given) {
  const CopyView view = RR_TRY(CopyView::of(given.memory, given.bytes));
  std::vector<CopyView::Found> copies = view.complete_copies();
  if (copies.size() > wire::kBulkCopiesMax) {
    const auto is_on_disk = [](const CopyView::Found& each) {
      return each.copy.state == SlotState::kDrained;
    };
    std::ranges::stable_partition(copies, is_on_disk);
    copies.resize(wire::kBulkCopiesMax);
    std::ranges::sort(copies, std::ranges::greater(),
                      [](const CopyView::Found& each) { return each.copy.sequence; });
  }
  BulkAnswer answer{copies.empty() ? BulkVerdict::kNone : BulkVerdict::kGo, view.slot_bytes(), {}};
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < copies.size(); ++i) all += answer.bytes[i] = copies[i].bytes;
  give_time(stream, all);
  RR_TRY(answer_bulk(stream, answer));
  for (const CopyView::Found& copy : copies) RR_TRY(send_slot(stream, copy, nullptr));
  stream.finish();
  return {};
}

Result<GivenMemory> fetch_copies(const CopyPeer& peer, base::Rank rank, bool with_board,
                                 wire::BulkStream& stream) {
  RR_TRY(stream.connect(*peer.keys, peer.endpoint, peer.name));
  RR_TRY(stream.send(to_bytes(wire::BulkRequest{wire::BulkPurpose::kFetch, rank, 0, 0})));
  const BulkAnswer answer = RR_TRY(receive_answer(stream));
  RR_TRY(status_of(answer.verdict));
  GivenMemory made = RR_TRY(reserve_area(answer.slot_bytes, with_board));
  GivenMemory mapped = RR_TRY(same_memory(made));
  const auto area = RR_TRY(checkpoint::MemoryArea::shared(std::move(mapped.memory)));
  for (std::size_t i = 0; i < answer.bytes.size() && answer.bytes[i] > 0; ++i) {
    Status got = receive_copy(stream, area.slot(i), answer.bytes[i]);
    if (!got && i == 0) return std::unexpected(std::move(got).error());
    if (!got) break;  // at least the newest has arrived
  }
  return made;
}

}  // namespace robustrun::agent
