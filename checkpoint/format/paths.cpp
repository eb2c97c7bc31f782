#include "checkpoint/format/paths.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/hash.h"
#include "base/core/text.h"
#include "base/io/fd.h"
#include "checkpoint/format/crc32c.h"
#include "checkpoint/format/limits.h"

namespace robustrun::checkpoint {

using base::Errc;
using base::Result;

std::string step_folder(std::uint64_t step) { return fmt::format("step-{:012}", step); }

std::string attempt_folder(const AttemptId& attempt) {
  return fmt::format("{}/g{}-{}", step_folder(attempt.step), attempt.generation, attempt.token);
}

std::optional<AttemptId> parse_attempt(std::string_view step_name, std::string_view attempt_name) {
  if (!step_name.starts_with("step-") || !attempt_name.starts_with('g')) return std::nullopt;
  const auto dash = attempt_name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto step = base::parse_int<std::uint64_t>(step_name.substr(5));
  const auto generation = base::parse_int<std::uint64_t>(attempt_name.substr(1, dash - 1));
  if (!step || !generation) return std::nullopt;
  AttemptId attempt{*step, *generation, std::string(attempt_name.substr(dash + 1))};
  // Only the canonical spelling counts, so that no attempt has two names.
  if (attempt_folder(attempt) != std::string(step_name) + '/' + std::string(attempt_name)) {
    return std::nullopt;
  }
  return attempt;
}

std::string part_name(std::string_view writer) { return fmt::format("part-{}.rrp", writer); }

std::string drained_name(std::string_view writer) { return fmt::format("drained-{}", writer); }

std::string digest_of(std::string_view manifest_bytes) {
  return fmt::format("{:016x}", base::hash64(manifest_bytes));
}

bool is_control_word(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char letter) { return letter > ' ' && letter <= '~'; });
}

std::string control_line(std::string_view words) {
  return fmt::format("{} {:08x}\n", words, crc32c(words));
}

Result<std::vector<std::string>> read_control_line(const std::string& path) {
  const std::string bytes = RR_TRY(base::read_file(path, kControlBytesMax));
  const auto last = bytes.rfind(' ');
  if (last == std::string::npos || control_line(bytes.substr(0, last)) != bytes) {
    return base::fail(Errc::kCorrupt, "cannot use " + path + ": its checksum is wrong");
  }
  std::vector<std::string> words;
  for (const auto word : base::split(std::string_view(bytes).substr(0, last), ' ')) {
    words.emplace_back(word);
  }
  return words;
}

}  // namespace robustrun::checkpoint
