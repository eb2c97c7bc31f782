#include "bootstrap/hot/hot_profile.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <unordered_set>

#include "base/core/hash.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

constexpr std::string_view kProfileHead = "robustrun-hot 1\n";

// A parser that consumes a text from its front; nullopt: unexpected text.
class ProfileText {
 public:
  explicit ProfileText(std::string_view rest) : rest_(rest) {}

  [[nodiscard]] bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  template <class Number>
  std::optional<Number> number(char end) {
    Number value{};
    const char* const last = rest_.data() + rest_.size();
    const auto [stop, error] = std::from_chars(rest_.data(), last, value);
    if (error != std::errc{} || stop == last || *stop != end) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()) + 1);
    return value;
  }
  std::optional<std::string_view> until(char end) {
    const auto at = rest_.find(end);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view found = rest_.substr(0, at);
    rest_.remove_prefix(at + 1);
    return found;
  }
  [[nodiscard]] bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// "-" or "OFFSET+LENGTH,…", ascending and within the file.
std::optional<std::vector<HotRange>> parse_ranges(std::string_view word, std::uint64_t size) {
  std::vector<HotRange> ranges;
  if (word == "-") return ranges;
  ProfileText text(word);
  std::uint64_t end = 0;
  while (true) {
    const auto offset = text.number<std::uint64_t>('+');
    const auto length = offset ? text.number<std::uint64_t>(',') : std::nullopt;
    if (!length || *length == 0 || *offset < end || *offset > size) return std::nullopt;
    if (*length > size - *offset || ranges.size() == kHotRangesMax) return std::nullopt;
    ranges.push_back({*offset, *length});
    end = *offset + *length;
    if (text.empty()) return ranges;
  }
}

// The part of a line after "file ".
std::optional<HotFile> parse_file(ProfileText& text) {
  HotFile file;
  const auto size = text.number<std::uint64_t>(' ');
  const auto mtime = size ? text.number<std::int64_t>(' ') : std::nullopt;
  const auto missed = mtime ? text.number<std::uint32_t>(' ') : std::nullopt;
  const auto ranges = missed ? text.until(' ') : std::nullopt;
  const auto path = ranges ? text.until('\n') : std::nullopt;
  if (!path || !path->starts_with('/') || path->size() > kPathBytesMax) return std::nullopt;
  if (path->find('\0') != std::string_view::npos) return std::nullopt;
  auto found = parse_ranges(*ranges, *size);
  if (!found) return std::nullopt;
  return HotFile{std::string(*path), *size, *mtime, *missed, *std::move(found)};
}

std::string range_words(const std::vector<HotRange>& ranges) {
  if (ranges.empty()) return "-";
  std::string words;
  for (const HotRange& each : ranges) words += fmt::format("{}+{},", each.offset, each.length);
  return words;
}

void add_pieces(std::size_t file, HotRange range, std::vector<HotPiece>& pieces) {
  while (range.length > 0) {
    const std::uint64_t length = std::min(range.length, kPieceBytes);
    pieces.push_back({file, {range.offset, length}});
    range.offset += length;
    range.length -= length;
  }
}

}  // namespace

std::uint64_t hot_bytes(const HotProfile& profile) {
  std::uint64_t bytes = 0;
  for (const HotFile& file : profile.files) {
    if (file.ranges.empty()) bytes += file.size;
    for (const HotRange& range : file.ranges) bytes += range.length;
  }
  return bytes;
}

std::string encode_profile(const HotProfile& profile) {
  std::string text(kProfileHead);
  text += fmt::format("made {}\n", profile.made_s);
  for (const HotFile& file : profile.files) {
    if (file.path.find('\n') != std::string::npos) continue;
    fmt::format_to(std::back_inserter(text), "file {} {} {} {} {}\n", file.size, file.mtime_ns,
                   file.missed, range_words(file.ranges), file.path);
  }
  text += fmt::format("end {:016x}\n", base::hash64(text));
  return text;
}

base::Result<HotProfile> decode_profile(std::string_view text) {
  if (text.size() > kProfileBytesMax) {
    return base::fail(base::Errc::kLimit, "the profile is longer than 16 MiB");
  }
  const auto tail = text.rfind("end ");
  if (!text.starts_with(kProfileHead) || tail == std::string_view::npos ||
      text.substr(tail) != fmt::format("end {:016x}\n", base::hash64(text.substr(0, tail)))) {
    return base::fail(base::Errc::kCorrupt, "not a complete profile of format 1");
  }
  ProfileText rest(text.substr(kProfileHead.size(), tail - kProfileHead.size()));
  HotProfile profile;
  const auto made = rest.take("made ") ? rest.number<std::int64_t>('\n') : std::nullopt;
  if (!made) return base::fail(base::Errc::kCorrupt, "its second line has no time");
  profile.made_s = *made;
  while (!rest.empty()) {
    auto file = rest.take("file ") ? parse_file(rest) : std::nullopt;
    if (!file || profile.files.size() == kHotFilesMax) {
      return base::fail(base::Errc::kCorrupt,
                        fmt::format("file {} of the profile is wrong", profile.files.size() + 1));
    }
    profile.files.push_back(*std::move(file));
  }
  return profile;
}

HotProfile merge_profiles(HotProfile newest, const HotProfile& before) {
  std::unordered_set<std::string_view> seen;
  for (const HotFile& file : newest.files) seen.insert(file.path);
  std::vector<HotFile> others;
  for (const HotFile& file : before.files) {
    if (newest.files.size() + others.size() >= kHotFilesMax) break;
    if (file.missed + 1 >= kMissedMax || seen.contains(file.path)) continue;
    others.push_back(file);
    ++others.back().missed;
  }
  newest.files.insert(newest.files.end(), std::make_move_iterator(others.begin()),
                      std::make_move_iterator(others.end()));
  return newest;
}

std::string source_of(std::string_view path) {
  constexpr std::string_view kCompiled = "/__pycache__/";
  const auto folder = path.rfind(kCompiled);
  if (folder == std::string_view::npos || !path.ends_with(".pyc")) return {};
  const std::string_view name = path.substr(folder + kCompiled.size());
  if (name.find('/') != std::string_view::npos) return {};
  return fmt::format("{}/{}.py", path.substr(0, folder), name.substr(0, name.find('.')));
}

std::vector<HotPiece> pieces_of(const HotProfile& profile) {
  std::vector<HotPiece> pieces;
  for (std::size_t i = 0; i < profile.files.size(); ++i) {
    const HotFile& file = profile.files[i];
    if (file.ranges.empty()) add_pieces(i, {0, file.size}, pieces);
    for (const HotRange& range : file.ranges) add_pieces(i, range, pieces);
  }
  return pieces;
}

}  // namespace robustrun::bootstrap
