#pragma once
// Tokens that are made while the training runs, and read in pieces.
//
// A piece is a file with the tokens of kPieceRecords records of one input file; the last piece of
// an input file has the rest. Piece 12 is FOLDER/12: an index in Megatron-LM's format (megatron.h),
// and right behind it the tokens that the index describes; then numbers of skipped records, which
// are not read here. A piece appears whole and never changes
// (python/robustrun/_data/pieces.py writes it). Blocks.

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "loader/index/megatron.h"
#include "loader/index/source_index.h"

namespace robustrun::loader {

inline constexpr std::uint64_t kPieceRecords = 1024;

// Parses the beginning of a piece of `records` records: piece_index_bytes(records) of a file of
// `file_bytes`. Offsets in the result begin with the file. The error is without the path.
[[nodiscard]] std::size_t piece_index_bytes(std::uint64_t records);
[[nodiscard]] base::Result<MegatronIndex> parse_piece(std::string_view bytes, std::uint64_t records,
                                                      std::uint64_t file_bytes);

// How a reader waits for pieces that are not there yet. Another thread may ask what it waits for,
// and end the waits.
class PieceWait {
 public:
  struct Sample {
    std::uint32_t source = 0;
    std::uint64_t number = 0;
  };

  // Whether the reader waits; if not, a piece that is not there is an error. At first it does not.
  void let(bool waits) { waits_ = waits; }
  // Waits a moment for the piece of this sample. False: the reader must not wait (any longer).
  bool pause(const Sample& sample);
  void found() { awaited_ = 0; }

  // Any thread.
  [[nodiscard]] std::optional<Sample> awaited() const;
  void stop();

 private:
  bool waits_ = false;
  std::atomic<std::uint64_t> awaited_ = 0;  // 0: nothing; else source + 1 and sample, 16 + 48 bits
  std::atomic<std::uint32_t> stopped_ = 0;
  static_assert(sizeof(stopped_) == sizeof(std::uint32_t));  // a futex
};

// Where the samples of sources in pieces lie, and how long they are. What was read last is kept.
// Not thread-safe.
class Pieces {
 public:
  struct Piece {
    std::string path;
    std::uint64_t first = 0;  // its first sample's number in the source
    MegatronIndex index;
  };

  // The indices must outlive this. `kept`: how many samples of each source stay in memory.
  Pieces(std::span<const SourceIndex> sources, std::uint64_t kept, std::shared_ptr<PieceWait> wait)
      : sources_(sources), kept_max_(kept), wait_(std::move(wait)), kept_(sources.size()) {}

  // The piece with this sample of a source in pieces. Valid until the next call. Waits as PieceWait
  // says. The error names the piece, or the input file and its records that have no tokens yet.
  base::Result<const Piece*> of(std::uint32_t source, std::uint64_t sample);

 private:
  struct Kept {
    std::map<std::uint64_t, Piece> pieces;  // by `first`
    std::deque<std::uint64_t> order;  // in which they were read
    std::uint64_t samples = 0;
  };

  std::span<const SourceIndex> sources_;
  std::uint64_t kept_max_;
  std::shared_ptr<PieceWait> wait_;
  std::vector<Kept> kept_;  // by source
};

}  // namespace robustrun::loader
