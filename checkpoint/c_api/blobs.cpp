#include "checkpoint/c_api/blobs.h"

#include "checkpoint/format/byte_codec.h"
#include "checkpoint/format/layout_codec.h"
#include "checkpoint/format/limits.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::fail;
using base::Result;

constexpr std::size_t kDtypeBytesMax = 64;
constexpr std::size_t kShardFixedBytes = 24;  // of a shard, besides name, type and dimensions

std::unexpected<base::Error> bad_blob(std::string_view what) {
  return fail(Errc::kInvalidArgument, "cannot understand " + std::string(what) +
                                          ": it is cut off, too long or contradicts itself");
}

void sizes_from(ByteReader& in, std::vector<std::uint64_t>& sizes) {
  for (std::uint64_t& size : sizes) size = in.number<std::uint64_t>();
}

void put_box(ByteWriter& out, const Shard& shard) {
  for (const auto* sizes : {&shard.global_shape, &shard.offsets, &shard.shape}) {
    for (const std::uint64_t size : *sizes) out.number(size);
  }
}

}  // namespace

Result<Participants> decode_participants(std::string_view blob) {
  ByteReader in(blob);
  Participants participants;
  participants.layout = layout_from(in);
  participants.writers = names_from(in, kWritersMax);
  if (!in.ended()) return bad_blob("the participants");
  return participants;
}

Result<std::vector<Shard>> decode_structure(std::string_view blob) {
  ByteReader in(blob);
  std::vector<Shard> shards(in.count(kShardsMax, kShardFixedBytes));
  for (Shard& shard : shards) {
    shard.name = in.text(kNameBytesMax);
    shard.dtype = in.text(kDtypeBytesMax);
    shard.rank = in.number<std::uint32_t>();
    const std::size_t dimensions = in.count(kDimensionsMax, 24);
    for (auto* sizes : {&shard.global_shape, &shard.offsets, &shard.shape}) {
      sizes->resize(dimensions);
      sizes_from(in, *sizes);
    }
    shard.bytes = in.number<std::uint64_t>();
    if (!in.ok()) return bad_blob("the description of tensors");
  }
  if (!in.ended()) return bad_blob("the description of tensors");
  return shards;
}

Result<std::vector<RankState>> decode_states(std::string_view blob) {
  ByteReader in(blob);
  std::vector<RankState> states(in.count(kStatesMax, 12));
  for (RankState& state : states) {
    state.rank = in.number<std::uint32_t>();
    state.name = in.text(kNameBytesMax);
    state.bytes = in.text(kStateBytesMax);
    if (!in.ok()) return bad_blob("the states of ranks");
  }
  if (!in.ended()) return bad_blob("the states of ranks");
  return states;
}

std::string encode_catalogue(std::span<const FoundAttempt> all) {
  ByteWriter out;
  out.number(static_cast<std::uint32_t>(all.size()));
  for (const FoundAttempt& found : all) {
    out.number(found.attempt.step);
    out.number(found.attempt.generation);
    out.text(found.attempt.token);
    out.number(static_cast<std::uint32_t>(found.state));
    out.number(std::uint32_t{(found.verified ? 1U : 0U) | (found.pinned ? 2U : 0U) |
                             (found.is_local() ? 4U : 0U)});
    out.text(found.poisoned);
    out.number(found.manifest.head.sequence);
    out.number(found.manifest.head.wall_time_ns);
    out.number(found.data_bytes);
    out.text(found.digest);
  }
  return out.take();
}

std::string encode_description(const Manifest& manifest, std::string_view digest) {
  const Head& head = manifest.head;
  ByteWriter out;
  out.number(head.attempt.step);
  out.number(head.attempt.generation);
  out.text(head.attempt.token);
  out.number(head.sequence);
  out.number(head.wall_time_ns);
  out.text(digest);
  put_layout(out, head.layout);
  put_names(out, head.mounts);
  put_names(out, head.writers);
  out.number(static_cast<std::uint32_t>(manifest.shards.size()));
  for (const Shard& shard : manifest.shards) {
    out.text(shard.name);
    out.text(shard.dtype);
    out.number(shard.rank);
    out.number(static_cast<std::uint32_t>(shard.shape.size()));
    put_box(out, shard);
    out.number(shard.bytes);
  }
  out.number(static_cast<std::uint32_t>(manifest.states.size()));
  for (const RankState& state : manifest.states) {
    out.number(state.rank);
    out.text(state.name);
    out.text(state.bytes);
  }
  return out.take();
}

std::string encode_texts(std::span<const std::string> texts) {
  ByteWriter out;
  put_names(out, texts);
  return out.take();
}

}  // namespace robustrun::checkpoint
