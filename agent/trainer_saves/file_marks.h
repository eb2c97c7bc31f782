#pragma once
// Whether one file of a checkpoint was written to its end, by the marks of its format. Pure.
//
// The input comes from the workers' disks and is not trusted: every function accepts any bytes.
//   zip (torch.save, Lightning)  the end-of-central-directory record, and the directory before it
//   safetensors                  8 bytes with the header's length, a JSON header, and data as long
//                                as the header's offsets say

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace robustrun::agent {

struct FileVerdict {
  enum class State : std::uint8_t { kWhole, kCutOff, kUnknown };
  State state = State::kUnknown;
  std::string why{};  // of kCutOff, a text after the file's name: "has 10 of 20 bytes"
};

// For a file that begins as a zip archive. `tail`: its last min(size, kZipTailBytes) bytes; `size`:
// of the whole file.
[[nodiscard]] FileVerdict judge_zip(std::string_view tail, std::uint64_t size);

// The header's length, from the first 8 bytes of a safetensors file; nullopt: `head` is shorter.
[[nodiscard]] std::optional<std::uint64_t> safetensors_header_bytes(std::string_view head);
// `header`: the `header_bytes` bytes after the first 8; fewer if the file ends before, or if the
// header is too long to be read. `size`: of the whole file.
[[nodiscard]] FileVerdict judge_safetensors(std::uint64_t header_bytes, std::string_view header,
                                            std::uint64_t size);

// For trainer_state.json and other files that hold one JSON object.
[[nodiscard]] FileVerdict judge_json(std::string_view text);

// "model-00002-of-00003.safetensors": the second of three shards.
struct ShardName {
  std::string series;  // the name without its number: "model-*-of-00003.safetensors"
  unsigned number = 0;  // from 1
  unsigned count = 0;
};
[[nodiscard]] std::optional<ShardName> parse_shard_name(std::string_view name);
// The name of another shard of the series.
[[nodiscard]] std::string shard_name(const ShardName& one, unsigned number);

}  // namespace robustrun::agent
