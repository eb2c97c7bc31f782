#include "bootstrap/store/source_name.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/sha256.h"
#include "bootstrap/store/blob.h"
#include "bootstrap/store/limits.h"
#include "bootstrap/store/store_files.h"

namespace robustrun::bootstrap {
namespace {

constexpr std::string_view kNameHead = "robustrun-name 1";
constexpr std::size_t kNameLines = 4;  // including the empty text after the last line feed

std::string hash_of_source(std::string_view source) { return base::to_hex(base::sha256(source)); }

std::string name_path(const std::string& cache, const std::string& key) {
  return fmt::format("{}/blocks/{}/name", cache, key);
}

// The blob `key`, if it came from the source with this hash.
std::optional<NamedBlob> look_at_name(const std::string& cache, const std::string& key,
                                      const std::string& hash) {
  const std::string path = name_path(cache, key);
  if (!open_store_file(path, O_RDONLY)) return std::nullopt;
  const auto text = base::read_file(path, kAboutBytesMax);
  if (!text) return std::nullopt;
  const auto name = parse_source_name(*text);
  if (!name || name->source_hash != hash) return std::nullopt;
  const auto about = bootstrap::read_about(cache, key);
  if (!about) return std::nullopt;
  return NamedBlob{key, about->length, name->seen_ns};
}

}  // namespace

std::string source_name_text(std::string_view source, std::int64_t seen_ns) {
  return fmt::format("{}\nsource {}\nseen {}\nend\n", kNameHead, hash_of_source(source), seen_ns);
}

base::Result<SourceName> parse_source_name(std::string_view text) {
  const auto lines = base::split(text, '\n');
  if (lines.size() == kNameLines + 1 && lines[0] == kNameHead && lines[1].starts_with("source ") &&
      lines[2].starts_with("seen ") && lines[3] == "end" && lines[4].empty()) {
    const auto seen_ns = base::parse_int<std::int64_t>(lines[2].substr(5));
    if (seen_ns) return SourceName{std::string(lines[1].substr(7)), *seen_ns};
  }
  return base::fail(base::Errc::kCorrupt, "cannot use a blob's 'name': not of format 1");
}

base::Status save_source_name(const std::string& cache, const std::string& key,
                              std::string_view source, std::int64_t now_ns) {
  RR_ASSERT(is_blob_key(key));
  const std::string path = name_path(cache, key);
  const base::Fd fd = RR_TRY(open_store_file(path, O_RDWR | O_CREAT));
  const std::string text = source_name_text(source, now_ns);
  const auto size = static_cast<off_t>(text.size());
  // An incomplete file is rejected by its reader.
  if (::pwrite(fd.get(), text.data(), text.size(), 0) != size || ::ftruncate(fd.get(), size) != 0) {
    return base::fail_errno(fmt::format("cannot write '{}'", path), errno);
  }
  return {};
}

std::optional<NamedBlob> find_named_blob(const std::string& cache, std::string_view source) {
  const std::string hash = hash_of_source(source);
  std::optional<NamedBlob> newest;
  std::error_code error;
  std::filesystem::directory_iterator entry(cache + "/blocks", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string key = entry->path().filename().string();
    if (!is_blob_key(key)) continue;
    const auto named = look_at_name(cache, key, hash);
    if (named && (!newest || named->seen_ns > newest->seen_ns)) newest = named;
  }
  return newest;
}

}  // namespace robustrun::bootstrap
