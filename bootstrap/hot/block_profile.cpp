#include "bootstrap/hot/block_profile.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "base/core/hash.h"
#include "base/core/text.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

constexpr std::string_view kBlocksHead = "robustrun-blocks 3\n";

std::unexpected<base::Error> bad_line(std::size_t number) {
  return base::fail(base::Errc::kCorrupt,
                    fmt::format("line {} of the profile of blocks is wrong", number));
}

// "NAME NUMBER".
template <class Number>
std::optional<Number> named_number(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) return std::nullopt;
  const auto value = base::parse_int<Number>(line.substr(name.size()));
  return value ? std::optional<Number>(*value) : std::nullopt;
}

// Parses "run FIRST COUNT MISSED" and adds its blocks; false: malformed, or a block occurs twice.
bool take_run(std::string_view line, std::vector<bool>& seen, BlockProfile& profile) {
  const auto words = base::split(line, ' ');
  if (words.size() != 4 || words[0] != "run") return false;
  const auto first = base::parse_int<std::uint32_t>(words[1]);
  const auto count = base::parse_int<std::uint32_t>(words[2]);
  const auto missed = base::parse_int<std::uint32_t>(words[3]);
  if (!first || !count || !missed || *count == 0 || *missed >= kMissedMax) return false;
  if (*first >= seen.size() || *count > seen.size() - *first) return false;
  for (std::uint32_t block = *first; block < *first + *count; ++block) {
    if (seen[block]) return false;
    seen[block] = true;
    profile.blocks.push_back({block, *missed});
  }
  return true;
}

}  // namespace

std::string encode_block_profile(const BlockProfile& profile) {
  std::string text(kBlocksHead);
  text += fmt::format("length {}\nmade {}\n", profile.length, profile.made_s);
  for (std::size_t i = 0; i < profile.blocks.size();) {
    const HotBlock& first = profile.blocks[i];
    std::uint32_t count = 1;
    while (i + count < profile.blocks.size() &&
           profile.blocks[i + count] == HotBlock{first.block + count, first.missed}) {
      ++count;
    }
    fmt::format_to(std::back_inserter(text), "run {} {} {}\n", first.block, count, first.missed);
    i += count;
  }
  text += fmt::format("end {:016x}\n", base::hash64(text));
  return text;
}

base::Result<BlockProfile> decode_block_profile(std::string_view text) {
  if (text.size() > kProfileBytesMax) {
    return base::fail(base::Errc::kLimit, "the profile of blocks is longer than 16 MiB");
  }
  const auto tail = text.rfind("end ");
  if (!text.starts_with(kBlocksHead) || tail == std::string_view::npos || text[tail - 1] != '\n' ||
      text.substr(tail) != fmt::format("end {:016x}\n", base::hash64(text.substr(0, tail)))) {
    return base::fail(base::Errc::kCorrupt, "not a complete profile of blocks of format 3");
  }
  const auto lines = base::split(text.substr(kBlocksHead.size(), tail - kBlocksHead.size()), '\n');
  // The last piece is the empty text after the last line end.
  if (lines.size() < 3) return bad_line(lines.size() + 1);
  const auto length = named_number<std::uint64_t>(lines[0], "length ");
  const auto made = named_number<std::int64_t>(lines[1], "made ");
  if (!length || *length == 0 || *length > kBlobBytesMax) return bad_line(2);
  if (!made) return bad_line(3);
  BlockProfile profile{*length, *made, {}};
  std::vector<bool> seen(blocks_of(*length));
  for (std::size_t i = 2; i + 1 < lines.size(); ++i) {
    if (!take_run(lines[i], seen, profile)) return bad_line(i + 2);
  }
  return profile;
}

BlockProfile merge_block_profiles(BlockProfile newest, const BlockProfile& before) {
  if (before.length != newest.length) return newest;
  std::vector<bool> seen(blocks_of(newest.length));
  for (const HotBlock& each : newest.blocks) seen[each.block] = true;
  for (const HotBlock& each : before.blocks) {
    if (seen[each.block] || each.missed + 1 >= kMissedMax) continue;
    newest.blocks.push_back({each.block, each.missed + 1});
  }
  return newest;
}

std::string block_profile_path(const std::string& cache, const std::string& key) {
  return fmt::format("{}/hot/{}.blocks", cache, key);
}

}  // namespace robustrun::bootstrap
