#pragma once
// Tokens and lengths of samples, from the files of all sources. Blocks; not thread-safe.
//
// It can be asked from another thread which file is being read, because a read may hang.
//
// Files stay open, at most kOpenFilesMax of them; the one that was opened first is closed first.

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "loader/index/pieces.h"
#include "loader/index/source_index.h"

namespace robustrun::loader {

inline constexpr std::size_t kOpenFilesMax = 64;

// Tokens as they are in a file.
class RawTokens {
 public:
  RawTokens(TokenType type, const char* bytes, std::size_t count)
      : type_(type), bytes_(bytes), count_(count) {}

  // Fills `out` with the tokens from number `first` on. There must be at least `out.size()` of
  // them.
  void widen(std::size_t first, std::span<std::int64_t> out) const;

 private:
  TokenType type_;
  const char* bytes_;
  std::size_t count_;
};

// A file that is being read. The path is valid as long as the indices.
struct FileRead {
  std::uint32_t source = 0;
  std::string_view path;
};

class TokenFiles {
 public:
  // The indices must outlive the reader. `kept` and `wait`: of class Pieces.
  TokenFiles(std::span<const SourceIndex> sources, std::uint64_t kept,
             std::shared_ptr<PieceWait> wait)
      : sources_(sources), pieces_(sources, kept, std::move(wait)) {}

  // Tokens of a sample. Errors: as of Pieces.
  base::Result<std::uint32_t> length(std::uint32_t source, std::uint64_t sample);

  // Reads `count` tokens of a sample from token `offset` on. The caller makes sure that they lie
  // within the sample; in a source in pieces, where the caller cannot know it, they are checked
  // (kCorrupt). The result is valid until the next call. Other errors name the file, also if it has
  // become shorter since it was indexed, or are those of Pieces.
  base::Result<RawTokens> read(std::uint32_t source, std::uint64_t sample, std::uint32_t offset,
                               std::size_t count);

  // Asks the kernel to read these tokens soon. Without effect if the file is not open, or the
  // source is in pieces.
  void read_ahead(std::uint32_t source, std::uint64_t sample, std::uint32_t offset,
                  std::uint32_t tokens);

  // The file that read() or read_ahead() is reading or opening at the moment. Of pieces: the text
  // that they were made of, while tokens of a piece are read (not while its index is). Any thread.
  [[nodiscard]] std::optional<FileRead> reading() const;

 private:
  using Key = std::pair<std::uint32_t, std::uint64_t>;  // source; file, or first sample of a piece
  class Reading;  // marks a file as being read
  // Where a sample's tokens are.
  struct Place {
    Key key;
    const std::string* path;
    TokenType type;
    std::uint64_t offset;  // bytes
    std::uint64_t within;  // number of the sample in its file
  };
  base::Result<Place> place_of(std::uint32_t source, std::uint64_t sample, std::uint64_t end);
  base::Result<int> opened(const Key& key, const std::string& path);
  [[nodiscard]] std::size_t file_of(std::uint32_t source, std::uint64_t sample) const;

  std::span<const SourceIndex> sources_;
  Pieces pieces_;
  std::map<Key, base::Fd> files_;
  std::deque<Key> order_;  // in which they were opened
  std::vector<char> bytes_;
  std::atomic<std::uint64_t> reading_ = 0;  // 0: none, else source + 1 and file, 32 bits each
};

}  // namespace robustrun::loader
