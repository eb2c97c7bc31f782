#pragma once
// Tokens and lengths of samples, from the files of all sources. Blocks; not thread-safe, except
// that any thread may ask which file is being read, because a read may hang.
//
// At most kOpenFilesMax files stay open; the one that was opened first is closed first.

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

// Tokens as they are in a file. Refers to memory of the TokenFiles that read them.
class RawTokens {
 public:
  RawTokens(TokenType type, const char* bytes, std::size_t count)
      : type_(type), bytes_(bytes), count_(count) {}

  // Fills `out` with the tokens from number `first` on. first + out.size() is at most the number of
  // tokens.
  void widen(std::size_t first, std::span<std::int64_t> out) const;

 private:
  TokenType type_;
  const char* bytes_;
  std::size_t count_;
};

// A file that is being read. The path is valid as long as the source's index.
struct FileRead {
  std::uint32_t source = 0;
  std::string_view path;
};

class TokenFiles {
 public:
  // `sources` must outlive this object. `kept` and `wait`: as for Pieces.
  TokenFiles(std::span<const SourceIndex> sources, std::uint64_t kept,
             std::shared_ptr<PieceWait> wait)
      : sources_(sources), pieces_(sources, kept, std::move(wait)) {}

  // Number of tokens of a sample. Errors: those of Pieces::of().
  base::Result<std::uint32_t> length(std::uint32_t source, std::uint64_t sample);

  // Reads `count` tokens of a sample from token `offset` on. The tokens must lie within the sample;
  // this is checked only for a source in pieces, because the caller may not know its lengths. The
  // result is valid until the next call. kCorrupt: the check failed, or the file has become shorter
  // since it was indexed. Other errors name the file, or are those of Pieces::of().
  base::Result<RawTokens> read(std::uint32_t source, std::uint64_t sample, std::uint32_t offset,
                               std::size_t count);

  // Asks the kernel to read these tokens soon. No effect if the file is not open or the source is
  // in pieces.
  void read_ahead(std::uint32_t source, std::uint64_t sample, std::uint32_t offset,
                  std::uint32_t tokens);

  // The file that read() or read_ahead() is reading or opening at the moment. While the tokens of a
  // piece are read, names the input file that the piece was made from; while the index of a piece
  // is read, nullopt. Any thread.
  [[nodiscard]] std::optional<FileRead> reading() const;

 private:
  // Source, and index of the file or number of a piece's first sample.
  using Key = std::pair<std::uint32_t, std::uint64_t>;
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
  std::deque<Key> order_;  // keys of files_, in the order in which they were opened
  std::vector<char> bytes_;
  std::atomic<std::uint64_t> reading_ = 0;  // source + 1 and file, 32 bits each; 0: none
};

}  // namespace robustrun::loader
