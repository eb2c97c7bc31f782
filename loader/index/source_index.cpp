#include "loader/index/source_index.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <filesystem>

#include "base/core/hash.h"
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
    const int failed = ::glob(path.c_str(), GLOB_ERR | GLOB_NOSORT, nullptr, &found);
    std::vector<std::string> matches;
    if (failed == 0) matches.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    if (matches.empty()) {
      return base::fail(base::Errc::kNotFound,
                        fmt::format("source {}: {} matches no file", source.name, path));
    }
    for (std::string& match : matches) match = one_name(source, match);
    std::ranges::sort(matches);  // by bytes: glob() sorts as the locale says
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

base::Result<SourceIndex> read_index(const Source& source, const std::string& folder) {
  SourceIndex index;
  index.estimated = source.format == Format::kJsonLines;
  for (std::string& path : RR_TRY(files_of(source, folder))) {
    IndexedFile file;
    file.first = index.lengths.size();
    std::vector<std::uint32_t> lengths;
    base::Status read;
    if (source.format == Format::kMegatron) {
      auto one = read_megatron_index(path);
      if (!one) read = std::unexpected(one.error());
      if (one) {
        lengths = std::move(one->lengths);
        file.offsets = std::move(one->offsets);
        file.type = one->type;
      }
      path.replace(path.size() - 4, 4, ".bin");
    } else {
      auto sizes = read_json_line_sizes(path);
      if (!sizes) read = std::unexpected(sizes.error());
      if (sizes) lengths = *std::move(sizes);
      for (std::uint32_t& length : lengths) {
        length = std::max<std::uint32_t>(1, length / source.bytes_per_token);
      }
    }
    if (!read) {
      return base::fail(read.error().code,
                        fmt::format("source {}: {}", source.name, read.error().what));
    }
    file.path = std::move(path);
    index.files.push_back(std::move(file));
    index.lengths.insert(index.lengths.end(), lengths.begin(), lengths.end());
  }
  return index;
}

std::uint64_t fingerprint(const SourceIndex& index) {
  const auto hash_of = [](const auto& values, std::uint64_t seed) {
    return base::hash64(
        {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values.front())},
        seed);
  };
  std::uint64_t hash = hash_of(index.lengths, 0);
  for (const IndexedFile& file : index.files) {
    hash = hash_of(file.offsets, hash ^ static_cast<std::uint64_t>(file.type));
  }
  return hash;
}

}  // namespace robustrun::loader
