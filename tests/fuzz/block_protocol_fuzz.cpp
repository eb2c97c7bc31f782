// Frames and statuses of the block server, profiles of blocks, a blob's "about" and what an HTTP
// server answers: any bytes become that or an error, and what is accepted is within its bounds.
// Seeds: tests/fuzz/seeds/block_protocol

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/core/hash.h"
#include "base/core/text.h"
#include "bootstrap/hot/block_profile.h"
#include "bootstrap/store/block_protocol.h"
#include "bootstrap/store/checked_blob.h"
#include "bootstrap/store/http_answer.h"
#include "bootstrap/store/store_files.h"

namespace {

using namespace robustrun::bootstrap;

void read_frames(std::string_view bytes) {
  BlockFrameReader reader;
  reader.feed(bytes);
  while (true) {
    const auto frame = reader.next();
    if (!frame || !*frame) return;
    const std::string again = encode_block_frame(**frame);
    if (!bytes.starts_with(again)) std::abort();
    bytes.remove_prefix(again.size());
  }
}

void read_profile(std::string_view bytes) {
  // No input would have the right sum by itself.
  char end[32];
  const auto sum = static_cast<unsigned long long>(robustrun::base::hash64(bytes));
  std::snprintf(end, sizeof(end), "end %016llx\n", sum);
  const auto profile = decode_block_profile(std::string(bytes) + end);
  if (!profile) return;
  for (const HotBlock& each : profile->blocks) {
    if (each.block >= blocks_of(profile->length)) std::abort();
  }
  if (decode_block_profile(encode_block_profile(*profile)).value() != *profile) std::abort();
}

void read_answer(std::string_view bytes) {
  HttpAnswer answer;
  for (const std::string_view line : robustrun::base::split(bytes, '\n')) answer.take_line(line);
  const auto range = check_answer(answer, {0, {}, {}, {}}, "x");
  if (range && (range->last < range->first || range->last >= range->total)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_frames(bytes);
  read_profile(bytes);
  read_answer(bytes);
  if (const auto status = decode_block_status(bytes)) {
    if (!decode_block_status(encode_block_status(*status))) std::abort();
  }
  if (const auto about = parse_about(bytes)) {
    if (!parse_about(about_text(*about))) std::abort();
  }
  if (const auto checked = parse_checked(bytes)) {
    if (checked_text(*checked) != bytes) std::abort();
  }
  return 0;
}
