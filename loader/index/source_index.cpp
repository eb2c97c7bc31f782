#include "loader/index/source_index.h"

#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/core/hash.h"
#include "loader/index/json_lines.h"
#include "loader/index/megatron.h"

namespace robustrun::loader {
namespace {

constexpr std::size_t kFilesMax = 100'000;  // of one source
constexpr std::size_t kPlainNameMax = 80;

// Megatron's data sets are named by their common prefix, their .idx or their .bin.
std::string one_name(const Source& source, std::string path) {
  if (source.format != Format::kMegatron) return path;
  if (path.ends_with(".idx") || path.ends_with(".bin")) path.resize(path.size() - 4);
  return path + ".idx";
}

// "web-0" of "web-0.idx".
std::string without_ending(const std::string& path) { return path.substr(0, path.size() - 4); }

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

// "part-01.jsonl" as it may stand in a file's name of ours.
std::string plain_name(const std::filesystem::path& path) {
  std::string name = path.filename().string().substr(0, kPlainNameMax);
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
    if (!plain) c = '_';
  }
  return name;
}

// Size and time of a file: they differ if it has changed.
base::Result<std::string> stamp_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return base::fail_errno("cannot find " + path, errno);
  if (!S_ISREG(status.st_mode)) {
    return base::fail(base::Errc::kCorrupt, fmt::format("cannot read {}: it is no file", path));
  }
  return fmt::format("{} {}.{:09}", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

// All that the tokens of a source's files depend on, but for the code of a transform.
std::string described(const Source& source, const std::string& folder) {
  const Recipe& recipe = source.recipe;
  std::filesystem::path file = std::filesystem::path(folder) / recipe.tokenizer;
  if (std::error_code error; std::filesystem::is_directory(file, error)) file /= "tokenizer.json";
  const auto tokenizer = stamp_of(file.string());
  return fmt::format("1\n{}\n{}\n{} {}\n{}\n{}\n", to_string(source.format), recipe.column,
                     recipe.tokenizer,
                     recipe.tokenizer.empty() || !tokenizer ? std::string() : *tokenizer,
                     recipe.transform, recipe.end ? std::to_string(*recipe.end) : "");
}

std::unexpected<base::Error> failed(const Source& source, const base::Error& error) {
  return base::fail(error.code, fmt::format("source {}: {}", source.name, error.what));
}

// Memory of a SourceIndex.
struct Owned {
  std::vector<std::uint32_t> lengths;
  std::vector<std::vector<std::uint64_t>> offsets;  // of each file
};

base::Status add_tokens(const std::string& prefix, SourceIndex& index, Owned& owned) {
  auto one = RR_TRY(read_megatron_index(prefix));
  index.files.push_back({prefix + ".bin", owned.lengths.size(), one.type, {}});
  owned.lengths.insert(owned.lengths.end(), one.lengths.begin(), one.lengths.end());
  owned.offsets.push_back(std::move(one.offsets));
  return {};
}

base::Status add_estimates(const std::string& path, std::uint32_t bytes_per_token,
                           SourceIndex& index, Owned& owned) {
  const std::vector<std::uint32_t> sizes = RR_TRY(read_json_line_sizes(path));
  index.files.push_back({path, owned.lengths.size(), TokenType::kUint16, {}});
  for (const std::uint32_t size : sizes) {
    owned.lengths.push_back(std::max<std::uint32_t>(1, size / bytes_per_token));
  }
  owned.offsets.emplace_back();
  return {};
}

bool is_compressed(const std::string& path) {
  return path.ends_with(".gz") || path.ends_with(".zst");
}

}  // namespace

base::Result<std::vector<Input>> inputs_of(const Spec& spec, const Source& source,
                                           const std::string& folder) {
  const std::filesystem::path base = std::filesystem::path(folder).lexically_normal();
  const std::string recipe = described(source, folder);
  std::vector<Input> inputs;
  for (std::string& path : RR_TRY(files_of(source, folder))) {
    const auto stamp = stamp_of(path);
    if (!stamp) return failed(source, stamp.error());
    // What lies below the folder may move with it.
    const auto normal = std::filesystem::path(path).lexically_normal();
    const std::string inner = normal.lexically_relative(base).string();
    const std::string name = inner.empty() || inner.starts_with("..") ? normal.string() : inner;
    const std::uint64_t hash = base::hash64(recipe + name + "\n" + *stamp, 0);
    Input input;
    input.tokens = (base / spec.cache / fmt::format("{}-{:016x}", plain_name(path), hash)).string();
    const auto exists = [&](const char* suffix) {
      return ::access((input.tokens + suffix).c_str(), F_OK) == 0;
    };
    input.is_prepared = exists(".idx") && exists(".bin");
    input.path = std::move(path);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

base::Result<std::optional<std::vector<std::string>>> token_sets_of(const Spec& spec,
                                                                    const Source& source,
                                                                    const std::string& folder) {
  std::vector<std::string> prefixes;
  if (source.format == Format::kMegatron) {
    for (const std::string& path : RR_TRY(files_of(source, folder))) {
      prefixes.push_back(without_ending(path));
    }
    return prefixes;
  }
  for (Input& input : RR_TRY(inputs_of(spec, source, folder))) {
    if (!input.is_prepared) return std::nullopt;
    prefixes.push_back(std::move(input.tokens));
  }
  return prefixes;
}

base::Result<SourceIndex> read_index(const Spec& spec, const Source& source,
                                     const std::string& folder, Lengths lengths) {
  SourceIndex index;
  auto owned = std::make_shared<Owned>();
  const auto finished = [&] {
    index.lengths = owned->lengths;
    for (std::size_t i = 0; i < index.files.size(); ++i) index.files[i].offsets = owned->offsets[i];
    index.memory = std::move(owned);
    return std::move(index);
  };
  if (!source.texts.empty()) {
    index.in_pieces = 0;
    for (const TextFile& text : source.texts) {
      index.files.push_back({text.path, *index.in_pieces, TokenType::kUint16, {}, text.pieces});
      *index.in_pieces += text.records;
    }
    index.known_fingerprint = source.fingerprint;
    return index;
  }
  if (source.format == Format::kMegatron) {
    for (const std::string& path : RR_TRY(files_of(source, folder))) {
      const auto added = add_tokens(without_ending(path), index, *owned);
      if (!added) return failed(source, added.error());
    }
    return finished();
  }
  const std::vector<Input> inputs = RR_TRY(inputs_of(spec, source, folder));
  const auto missing = std::ranges::find(inputs, false, &Input::is_prepared);
  index.estimated = missing != inputs.end();
  const bool may_estimate = source.format == Format::kJsonLines && lengths == Lengths::kEstimates &&
                            std::ranges::none_of(inputs, is_compressed, &Input::path);
  if (index.estimated && !may_estimate) {
    return base::fail(
        base::Errc::kNotFound,
        fmt::format("source {}: {} {}", source.name, missing->path,
                    spec.while_training
                        ? "has lengths that are known only while the training runs; without "
                          "prepare = \"training\" they are, after `robustrun data prepare`"
                        : "has not been tokenized yet, or has changed since; run `robustrun data "
                          "prepare`, or set prepare = \"training\""));
  }
  for (const Input& input : inputs) {
    const auto added = index.estimated
                           ? add_estimates(input.path, source.bytes_per_token, index, *owned)
                           : add_tokens(input.tokens, index, *owned);
    if (!added) return failed(source, added.error());
  }
  return finished();
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
