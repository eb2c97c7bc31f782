// Any bytes as a file of a trainer's checkpoint: judged without a crash, and never whole when the
// data of a safetensors file are shorter than its header says.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/node/worker_json.h"
#include "agent/trainer_saves/file_marks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace robustrun::agent;
  using State = FileVerdict::State;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const FileVerdict zip = judge_zip(text, size);
  if (zip.state == State::kWhole && size < 22) std::abort();
  static_cast<void>(judge_zip(text, size + (std::uint64_t{1} << 40)));

  if (const auto header = safetensors_header_bytes(text)) {
    const std::string_view rest = text.substr(8);
    const FileVerdict tensors = judge_safetensors(
        *header, rest.substr(0, std::min<std::uint64_t>(*header, rest.size())), size);
    if (tensors.state == State::kWhole && *header > rest.size()) std::abort();
    if ((tensors.state == State::kCutOff) == tensors.why.empty()) std::abort();
  }
  if (judge_json(text).state == State::kWhole && !text.contains('}')) std::abort();
  if (const auto shards = parse_shard_index(text); shards && shards->size() > size) std::abort();
  if (const auto shard = parse_shard_name(text)) {
    if (shard_name(*shard, shard->number) != text) std::abort();
  }
  return 0;
}
