#include "bootstrap/store/staged_about.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <vector>

#include "base/core/text.h"
#include "base/io/fd.h"
#include "base/io/sha256.h"

namespace robustrun::bootstrap {
namespace {

using base::Errc;
using base::fail;

constexpr std::string_view kStagedMagic = "robustrun-staged-1";
constexpr std::size_t kStagedWords = 5;
constexpr std::size_t kValidatorBytesMax = 64;

template <class T>
bool read_whole(std::string_view word, T& value) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (words.size() + 1 < kStagedWords) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) break;
    words.push_back(text.substr(0, space));
    text.remove_prefix(space + 1);
  }
  words.push_back(text);  // the last word may contain spaces
  return words;
}

}  // namespace

std::string staged_name(std::string_view path) {
  constexpr std::size_t kRawBytes = 16;
  const std::string hash = base::sha256("staged " + std::string(path));
  return base::to_hex(hash.substr(0, kRawBytes));
}

std::string to_text(const StagedAbout& about) {
  return fmt::format("{} {} {} {} {}", kStagedMagic, about.blob.key, about.blob.length,
                     about.reader.value, about.blob.validator);
}

base::Result<StagedAbout> parse_staged_about(std::string_view text) {
  const auto words = split_words(text);
  StagedAbout about;
  const bool is_one = words.size() == kStagedWords && words[0] == kStagedMagic &&
                      is_blob_key(words[1]) && read_whole(words[2], about.blob.length) &&
                      read_whole(words[3], about.reader.value) && !words[4].empty() &&
                      words[4].size() <= kValidatorBytesMax;
  if (!is_one || about.blob.length == 0 || about.blob.length > kBlobBytesMax) {
    return fail(Errc::kProtocol, "a peer sent an invalid description of a staged file");
  }
  about.blob.key = words[1];
  about.blob.validator = words[4];
  return about;
}

base::Result<std::string> read_staged_block(const std::string& path, const Blob& blob,
                                            std::uint64_t block) {
  RR_ASSERT(block < blocks_of(blob.length));
  const base::Fd file = RR_TRY(base::open_regular(path));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) {
    return base::fail_errno("cannot read " + path, errno);
  }
  const auto mtime_ns =
      std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (static_cast<std::uint64_t>(status.st_size) != blob.length ||
      path_validator(mtime_ns) != blob.validator) {
    return fail(Errc::kConflict, path +
                                     " is not what another node of the run saw: it was changed "
                                     "during the start, or the nodes have different files");
  }
  // Other nodes read the neighbouring blocks: no read-ahead here.
  static_cast<void>(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_RANDOM));
  std::string bytes(bytes_of_block(blob.length, block), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::pread(file.get(), bytes.data() + have, bytes.size() - have,
                                static_cast<off_t>(block * kBlockBytes + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::fail_errno("cannot read " + path, errno);
    if (got == 0) return fail(Errc::kConflict, path + " was truncated");
    have += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace robustrun::bootstrap
