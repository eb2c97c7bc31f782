// Header of kSlotHeaderBytes: magic (8) | u32 version | u32 state | u64 sequence | u64 bytes of the
// description | u32 CRC of the description | u32 CRC of the fields before it, without the state.

#include "checkpoint/memory/memory_slot.h"

#include <atomic>
#include <cstring>

#include "checkpoint/format/byte_codec.h"
#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/limits.h"

namespace robustrun::checkpoint {
namespace {

using base::Errc;
using base::fail;
using base::Result;

constexpr std::string_view kSlotMagic = "RRSLOT01";
constexpr std::uint32_t kSlotVersion = 1;
constexpr std::size_t kStateAt = 12;
constexpr std::size_t kSlotFieldsBytes = 40;

std::uint32_t* state_of(std::span<const char> slot) {
  // The mapping is page-aligned, and its target is changed only through a writable mapping.
  return reinterpret_cast<std::uint32_t*>(const_cast<char*>(slot.data()) + kStateAt);
}

void set_state(std::span<char> slot, SlotState state) {
  std::atomic_ref(*state_of(slot))
      .store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

std::uint64_t slot_rounded(std::uint64_t value, std::uint64_t to) {
  return (value + to - 1) / to * to;
}

std::string describe_copy(const MemoryCopy& copy) {
  ByteWriter out;
  out.text(copy.writer);
  out.raw(encode(Document::kMemory, copy.manifest));
  return out.take();
}

// All header fields but the checksum.
std::string slot_fields(const MemoryCopy& copy, std::string_view description) {
  ByteWriter out;
  out.raw(kSlotMagic);
  out.number(kSlotVersion);
  out.number(std::uint32_t{0});
  out.number(copy.sequence);
  out.number(std::uint64_t{description.size()});
  out.number(crc32c(description));
  return out.take();
}

std::unexpected<base::Error> damaged_copy(std::string_view cause) {
  return fail(Errc::kCorrupt, "the copy in memory is damaged: " + std::string(cause));
}

// Returns false if the shards' offsets overflow.
bool place_shards(MemoryCopy& copy, std::uint64_t at, std::uint64_t& end) {
  copy.offsets.clear();
  for (const Shard& shard : copy.manifest.shards) {
    copy.offsets.push_back(at);
    if (shard.bytes > kMemoryBytesMax || at > kMemoryBytesMax) return false;
    at = slot_rounded(at + shard.bytes, kSmallAlignment);
  }
  end = at;
  return true;
}

}  // namespace

SlotState slot_state(std::span<const char> slot) {
  if (slot.size() < kSlotHeaderBytes) return SlotState::kEmpty;
  const auto state = std::atomic_ref(*state_of(slot)).load(std::memory_order_acquire);
  return state <= static_cast<std::uint32_t>(SlotState::kDrained) ? static_cast<SlotState>(state)
                                                                  : SlotState::kEmpty;
}

Result<MemoryCopy> read_slot(std::span<const char> slot) {
  MemoryCopy copy;
  copy.state = slot_state(slot);
  if (copy.state != SlotState::kComplete && copy.state != SlotState::kDrained) {
    return fail(Errc::kNotFound, "there is no complete copy in memory");
  }
  std::string fields(slot.data(), kSlotFieldsBytes);  // a private copy, which no process changes
  std::memset(fields.data() + kStateAt, 0, sizeof(std::uint32_t));
  ByteReader in(fields);
  if (in.raw(kSlotMagic.size()) != kSlotMagic) return damaged_copy("its magic number is wrong");
  const auto version = in.number<std::uint32_t>();
  (void)in.number<std::uint32_t>();
  copy.sequence = in.number<std::uint64_t>();
  const auto bytes = in.number<std::uint64_t>();
  const auto crc = in.number<std::uint32_t>();
  if (crc32c(std::string_view(fields).substr(0, kSlotFieldsBytes - 4)) !=
      in.number<std::uint32_t>()) {
    return damaged_copy("the checksum of its header is wrong");
  }
  if (version != kSlotVersion) {
    return fail(Errc::kUnavailable, "the copy in memory was made by another version of robustrun");
  }
  if (bytes > kManifestBytesMax || bytes > slot.size() - kSlotHeaderBytes) {
    return damaged_copy("its description is longer than the slot");
  }
  const std::string description(slot.data() + kSlotHeaderBytes, bytes);
  if (crc32c(description) != crc) return damaged_copy("the checksum of its description is wrong");
  ByteReader words(description);
  copy.writer = words.text(kNameBytesMax);
  if (!words.ok()) return damaged_copy("it names no writer");
  copy.manifest = RR_TRY(
      decode(Document::kMemory, std::string_view(description).substr(4 + copy.writer.size())));
  std::uint64_t end = 0;
  if (!place_shards(copy, slot_rounded(kSlotHeaderBytes + bytes, kAlignment), end) ||
      end > slot.size()) {
    return damaged_copy("its tensors are longer than the slot");
  }
  return copy;
}

Result<std::uint64_t> plan_slot(MemoryCopy& copy) {
  const std::uint64_t bytes = describe_copy(copy).size();  // CRCs do not change its length
  std::uint64_t end = 0;
  if (bytes > kManifestBytesMax ||
      !place_shards(copy, slot_rounded(kSlotHeaderBytes + bytes, kAlignment), end) ||
      end > kMemoryBytesMax) {
    return fail(Errc::kLimit, "cannot keep a copy in memory: the state is too large");
  }
  return end;
}

void open_slot(std::span<char> slot) {
  set_state(slot, SlotState::kFilling);
  // No byte of the new copy may become visible before this.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void write_slot(std::span<char> slot, const MemoryCopy& copy) {
  const std::string description = describe_copy(copy);
  RR_ASSERT(kSlotHeaderBytes + description.size() <= slot.size());
  std::memcpy(slot.data() + kSlotHeaderBytes, description.data(), description.size());
  const std::string fields = slot_fields(copy, description);
  ByteWriter crc;
  crc.number(crc32c(fields));
  // The state is a separate word within the header; it stays unchanged.
  std::memcpy(slot.data(), fields.data(), kStateAt);
  std::memcpy(slot.data() + kStateAt + 4, fields.data() + kStateAt + 4,
              fields.size() - kStateAt - 4);
  std::memcpy(slot.data() + fields.size(), crc.bytes().data(), crc.bytes().size());
  set_state(slot, SlotState::kComplete);
}

void mark_drained(std::span<char> slot) {
  RR_ASSERT(slot_state(slot) == SlotState::kComplete || slot_state(slot) == SlotState::kDrained);
  set_state(slot, SlotState::kDrained);
}

}  // namespace robustrun::checkpoint
