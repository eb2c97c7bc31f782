#pragma once
// Names of the files and folders in a checkpoint directory, and the lines of its small control
// files.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/format/manifest.h"

namespace robustrun::checkpoint {

inline constexpr std::string_view kManifestName = "MANIFEST";
inline constexpr std::string_view kDeletedName = "MANIFEST.deleted";
inline constexpr std::string_view kIntentName = "INTENT";
inline constexpr std::string_view kVerifiedName = "VERIFIED";
inline constexpr std::string_view kPinnedName = "PINNED";
inline constexpr std::string_view kPoisonedName = "POISONED";
inline constexpr std::string_view kDrainedName = "DRAINED";
inline constexpr std::string_view kLatestName = "LATEST";
inline constexpr std::string_view kFenceName = "FENCE";

[[nodiscard]] std::string step_folder(std::uint64_t step);  // "step-000000001000"
// The step's folder, '/', generation and token: "step-000000001000/g7-3f9c...".
[[nodiscard]] std::string attempt_folder(const AttemptId& attempt);
// Returns nullopt for any other spelling than that of attempt_folder().
[[nodiscard]] std::optional<AttemptId> parse_attempt(std::string_view step_name,
                                                     std::string_view attempt_name);
[[nodiscard]] std::string part_name(std::string_view writer);
// The file that marks that all files of `writer` are on shared storage.
[[nodiscard]] std::string drained_name(std::string_view writer);
[[nodiscard]] std::string digest_of(std::string_view manifest_bytes);  // XXH3-64 in hex

// Whether `text` may be a word of a control line: printable ASCII without spaces, not empty.
[[nodiscard]] bool is_control_word(std::string_view text);
// `words` with a CRC appended: "word word crc\n".
[[nodiscard]] std::string control_line(std::string_view words);
// The words of the line, without the CRC. kCorrupt: the CRC is wrong.
base::Result<std::vector<std::string>> read_control_line(const std::string& path);

}  // namespace robustrun::checkpoint
