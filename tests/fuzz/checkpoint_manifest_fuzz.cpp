// Any bytes as a manifest, bare or with its checksums put right (first byte odd): an error, or a
// manifest that agrees with itself and that is the same when written and read again.
// Seeds: tests/fuzz/seeds/checkpoint_manifest

#include <cstdint>
#include <string>
#include <string_view>

#include "checkpoint/format/byte_codec.h"
#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/format/manifest_check.h"

using namespace robustrun::checkpoint;

namespace {

// One document whose four sections are the input, cut at places that the input names, and those
// that may be left out if it goes on: so that what is behind the checksums is reached.
std::string with_checksums(std::string_view input) {
  ByteWriter out;
  out.raw("RRMANIFE");
  out.number(kFormatVersion);
  out.number(std::uint32_t{0});
  const std::uint32_t start = crc32c(out.bytes());
  ByteReader in(input);
  ByteWriter index;
  std::uint32_t count = 0;
  for (const std::uint32_t kind : {1U, 2U, 3U, 4U, 6U | 1U << 31U, 8U | 1U << 31U}) {
    if (count >= 4 && in.ended()) break;
    ++count;
    const std::string_view section = in.raw(in.number<std::uint16_t>());
    index.number(kind);
    index.number(std::uint64_t{out.bytes().size()});
    index.number(std::uint64_t{section.size()});
    index.number(crc32c(section));
    out.raw(section);
  }
  index.number(count);
  out.raw(index.bytes());
  out.number(crc32c(index.bytes(), start));
  out.raw("RRCK-END");
  return out.take();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty()) return 0;
  const bool dressed = (input[0] & 1) != 0;
  input.remove_prefix(1);
  const std::string bytes = dressed ? with_checksums(input) : std::string(input);
  const auto summary = summarize(Document::kManifest, bytes);
  const auto manifest = decode(Document::kManifest, bytes);
  if (!manifest) return 0;
  RR_ASSERT(summary && summary->head == manifest->head);
  RR_ASSERT(summary->shards == manifest->shards.size());
  RR_ASSERT(check_consistent(*manifest));
  const auto again = decode(Document::kManifest, encode(Document::kManifest, *manifest));
  RR_ASSERT(again && *again == *manifest);
  return 0;
}
