#include "bootstrap/store/checked_blob.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/sha256.h"
#include "bootstrap/store/blob.h"
#include "bootstrap/store/limits.h"
#include "bootstrap/store/source_digest.h"
#include "bootstrap/store/store_files.h"

namespace robustrun::bootstrap {
namespace {

constexpr std::string_view kCheckedHead = "robustrun-checked 1";
constexpr std::size_t kCheckedLines = 4;  // including the empty text after the last line feed

std::string blob_file(const std::string& cache, const std::string& key, std::string_view name) {
  return fmt::format("{}/blocks/{}/{}", cache, key, name);
}

}  // namespace

base::Result<std::string> hash_of_sums(const std::string& cache, const std::string& key) {
  const std::string path = blob_file(cache, key, "sums");
  const base::Fd fd = RR_TRY(open_store_file(path, O_RDONLY));
  base::Sha256 hash;
  std::string piece(std::size_t{64} << 10, '\0');
  while (true) {
    const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail_errno(fmt::format("cannot read '{}'", path), errno);
    if (got == 0) return base::to_hex(hash.finish());
    hash.add(std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
  }
}

std::string checked_text(const CheckedBlob& checked) {
  return fmt::format("{}\nsha256 {}\nsums {}\nend\n", kCheckedHead, checked.sha256, checked.sums);
}

base::Result<CheckedBlob> parse_checked(std::string_view text) {
  const auto lines = base::split(text, '\n');
  if (lines.size() == kCheckedLines + 1 && lines[0] == kCheckedHead &&
      lines[1].starts_with("sha256 ") && lines[2].starts_with("sums ") && lines[3] == "end" &&
      lines[4].empty()) {
    CheckedBlob checked{std::string(lines[1].substr(7)), std::string(lines[2].substr(5))};
    if (is_sha256(checked.sha256) && is_sha256(checked.sums)) return checked;
  }
  return base::fail(base::Errc::kCorrupt, "cannot use a blob's 'checked': not of format 1");
}

base::Status save_checked(const std::string& cache, const std::string& key, std::string_view sha256,
                          std::string_view sums) {
  RR_ASSERT(is_blob_key(key) && is_sha256(sha256) && is_sha256(sums));
  const std::string path = blob_file(cache, key, "checked");
  const base::Fd fd = RR_TRY(open_store_file(path, O_RDWR | O_CREAT));
  const std::string text = checked_text({std::string(sha256), std::string(sums)});
  const auto size = static_cast<off_t>(text.size());
  // An incomplete file is rejected by its reader.
  if (::pwrite(fd.get(), text.data(), text.size(), 0) != size || ::ftruncate(fd.get(), size) != 0) {
    return base::fail_errno(fmt::format("cannot write '{}'", path), errno);
  }
  return {};
}

bool is_checked_blob(const std::string& cache, const std::string& key, std::string_view sha256) {
  const std::string path = blob_file(cache, key, "checked");
  if (!open_store_file(path, O_RDONLY)) return false;
  const auto text = base::read_file(path, kAboutBytesMax);
  if (!text) return false;
  const auto checked = parse_checked(*text);
  if (!checked || checked->sha256 != sha256) return false;
  const auto sums = hash_of_sums(cache, key);
  return sums && *sums == checked->sums;
}

std::optional<NamedBlob> find_checked_blob(const std::string& cache, std::string_view sha256) {
  std::error_code error;
  std::filesystem::directory_iterator entry(cache + "/blocks", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string key = entry->path().filename().string();
    if (!is_blob_key(key) || !is_checked_blob(cache, key, sha256)) continue;
    if (const auto about = read_about(cache, key)) return NamedBlob{key, about->length, 0};
  }
  return std::nullopt;
}

}  // namespace robustrun::bootstrap
