#include "bootstrap/hot/touched_files.h"

#include <fmt/core.h>

#include <unordered_map>
#include <utility>

#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

constexpr std::string_view kTouchedHead = "robustrun-files 1\n";

}  // namespace

base::Result<std::vector<TouchedFile>> parse_touched(std::string_view text) {
  if (text.size() > kTouchedBytesMax) {
    return base::fail(base::Errc::kLimit, "the list of files is longer than 16 MiB");
  }
  if (!text.starts_with(kTouchedHead)) {
    return base::fail(base::Errc::kCorrupt, "not a list of files of format 1");
  }
  std::vector<TouchedFile> files;
  std::string_view rest = text.substr(kTouchedHead.size());
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    const bool mapped = line.starts_with("mapped /");
    const std::string_view path = line.substr(line.find(' ') + 1);
    if (end == std::string_view::npos || !(mapped || line.starts_with("read /")) ||
        path.size() > kPathBytesMax || path.find('\0') != std::string_view::npos) {
      return base::fail(base::Errc::kCorrupt,
                        fmt::format("line {} of the list of files is wrong", files.size() + 2));
    }
    if (files.size() == kHotFilesMax) {
      return base::fail(base::Errc::kLimit, "the list has too many files");
    }
    files.push_back({std::string(path), mapped});
    rest.remove_prefix(end + 1);
  }
  return files;
}

std::vector<TouchedFile> join_touched(std::vector<std::vector<TouchedFile>> lists) {
  std::vector<TouchedFile> joined;
  std::unordered_map<std::string, std::size_t> places;
  for (auto& list : lists) {
    for (TouchedFile& file : list) {
      const auto [place, is_new] = places.try_emplace(file.path, joined.size());
      if (!is_new) {
        joined[place->second].mapped |= file.mapped;
      } else if (joined.size() < kHotFilesMax) {
        joined.push_back(std::move(file));
      } else {
        places.erase(place);
      }
    }
  }
  return joined;
}

}  // namespace robustrun::bootstrap
