#include "loader/index/lengths.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>

#include "loader/index/json_lines.h"
#include "loader/index/megatron.h"

namespace robustrun::loader {
namespace {

constexpr std::size_t kFilesMax = 100'000;  // of one source

// Megatron's data sets are named by their common prefix, their .idx or their .bin.
std::string one_name(const Source& source, std::string path) {
  if (source.format != Format::kMegatron) return path;
  if (path.ends_with(".idx") || path.ends_with(".bin")) path.resize(path.size() - 4);
  return path + ".idx";
}

base::Result<std::vector<std::string>> files_of(const Source& source, const std::string& folder) {
  std::vector<std::string> files;
  for (const std::string& given : source.paths) {
    const std::string path = (std::filesystem::path(folder) / given).string();
    if (given.find_first_of("*?[") == std::string::npos) {
      files.push_back(one_name(source, path));
      continue;
    }
    glob_t found{};
    const int failed = ::glob(path.c_str(), GLOB_ERR, nullptr, &found);
    std::vector<std::string> matches;
    if (failed == 0) matches.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    if (matches.empty()) {
      return base::fail(base::Errc::kNotFound,
                        fmt::format("source {}: {} matches no file", source.name, path));
    }
    for (std::string& match : matches) match = one_name(source, match);
    const auto [first, last] = std::ranges::unique(matches);
    matches.erase(first, last);
    files.insert(files.end(), matches.begin(), matches.end());
  }
  if (files.size() > kFilesMax) {
    return base::fail(base::Errc::kLimit, fmt::format("source {} has {} files, more than {}",
                                                      source.name, files.size(), kFilesMax));
  }
  return files;
}

}  // namespace

base::Result<SourceIndex> read_lengths(const Source& source, const std::string& folder) {
  SourceIndex index;
  index.files = RR_TRY(files_of(source, folder));
  index.estimated = source.format == Format::kJsonLines;
  for (const std::string& file : index.files) {
    std::vector<std::uint32_t> lengths;
    base::Status read;
    if (source.format == Format::kMegatron) {
      auto one = read_megatron_index(file);
      if (one) lengths = std::move(one->lengths);
      if (!one) read = std::unexpected(one.error());
    } else {
      auto sizes = read_json_line_sizes(file);
      if (sizes) lengths = *std::move(sizes);
      if (!sizes) read = std::unexpected(sizes.error());
      for (std::uint32_t& length : lengths) {
        length = std::max<std::uint32_t>(1, length / source.bytes_per_token);
      }
    }
    if (!read) {
      return base::fail(read.error().code,
                        fmt::format("source {}: {}", source.name, read.error().what));
    }
    index.lengths.insert(index.lengths.end(), lengths.begin(), lengths.end());
  }
  return index;
}

}  // namespace robustrun::loader
