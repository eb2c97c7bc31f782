// Any bytes as a slot of copies in memory, bare or with its checksums put right (first byte odd):
// an error, or a copy whose tensors lie within the slot.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/format/byte_codec.h"
#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/limits.h"
#include "checkpoint/memory/memory_slot.h"

using namespace robustrun::checkpoint;

namespace {

// A document with a head of ours and the input as its shards, so that what is behind the checksums
// is reached.
std::string dressed_document(std::string_view shards) {
  ByteWriter head;
  head.number(std::uint64_t{1});
  head.number(std::uint64_t{1});
  head.text("abc");
  head.number(std::uint64_t{0});
  head.number(std::uint64_t{0});
  head.number(std::uint32_t{4});
  for (int list = 0; list < 3; ++list) head.number(std::uint32_t{0});
  ByteWriter out;
  out.raw("RRMEMORY");
  out.number(kFormatVersion);
  out.number(std::uint32_t{0});
  const std::uint32_t start = crc32c(out.bytes());
  ByteWriter index;
  const std::pair<std::uint32_t, std::string_view> sections[] = {{1, head.bytes()}, {3, shards}};
  for (const auto& [kind, bytes] : sections) {
    index.number(kind);
    index.number(std::uint64_t{out.bytes().size()});
    index.number(std::uint64_t{bytes.size()});
    index.number(crc32c(bytes));
    out.raw(bytes);
  }
  index.number(std::uint32_t{2});
  out.raw(index.bytes());
  out.number(crc32c(index.bytes(), start));
  out.raw("RRCK-END");
  return out.take();
}

// The first two bytes of the input say how much room there is behind the description.
std::string dressed_slot(std::string_view input) {
  ByteReader in(input);
  const auto room = in.number<std::uint16_t>();
  ByteWriter description;
  description.text("n0");
  description.raw(dressed_document(in.raw(input.size() - std::min<std::size_t>(2, input.size()))));
  ByteWriter out;
  out.raw("RRSLOT01");
  out.number(std::uint32_t{1});
  out.number(std::uint32_t{0});
  out.number(std::uint64_t{1});
  out.number(std::uint64_t{description.bytes().size()});
  out.number(crc32c(description.bytes()));
  const std::uint32_t crc = crc32c(out.bytes());
  out.number(crc);
  std::string slot = out.take();
  slot[12] = 2;  // complete
  slot.resize(kSlotHeaderBytes);
  slot.append(description.bytes());
  slot.resize(slot.size() + room);
  return slot;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty()) return 0;
  const bool dressed = (input[0] & 1) != 0;
  input.remove_prefix(1);
  std::string slot = dressed ? dressed_slot(input) : std::string(input);
  // Where a word may be read at once, as in a mapping.
  std::vector<std::uint64_t> aligned(slot.size() / 8 + 1);
  std::memcpy(aligned.data(), slot.data(), slot.size());
  const std::span<const char> bytes(reinterpret_cast<const char*>(aligned.data()), slot.size());
  const auto copy = read_slot(bytes);
  if (!copy) return 0;
  RR_ASSERT(copy->offsets.size() == copy->manifest.shards.size());
  for (std::size_t i = 0; i < copy->offsets.size(); ++i) {
    RR_ASSERT(copy->offsets[i] <= bytes.size() &&
              copy->manifest.shards[i].bytes <= bytes.size() - copy->offsets[i]);
  }
  return 0;
}
