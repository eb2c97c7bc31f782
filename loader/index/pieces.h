#pragma once
// Reads tokens that are made in pieces while the training runs. Blocks.
//
// A piece is a file with the tokens of kPieceRecords records of one input file; the last piece of
// an input file has the rest. Piece 12 is the file FOLDER/12. It has an index in Megatron-LM's
// format (megatron.h), then the tokens that the index describes, then numbers of skipped records,
// which are not read here. A piece appears whole and never changes.
// python/robustrun/_data/pieces.py writes pieces.

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

// Length of the index of a piece with `records` records.
[[nodiscard]] std::size_t piece_index_bytes(std::uint64_t records);
// Parses the index of a piece. `bytes`: the first piece_index_bytes(records) of a file of
// `file_bytes`. Offsets in the result are from the start of the file. kCorrupt: the error's
// text names no path.
[[nodiscard]] base::Result<MegatronIndex> parse_piece(std::string_view bytes, std::uint64_t records,
                                                      std::uint64_t file_bytes);

// How a reader waits for pieces that do not exist yet. Any thread may call awaited() and stop();
// the reader's thread makes the other calls.
class PieceWait {
 public:
  struct Sample {
    std::uint32_t source = 0;
    std::uint64_t number = 0;
  };

  // Sets whether the reader waits. At first it does not: a missing piece is then an error.
  void let(bool waits) { waits_ = waits; }
  // Waits a moment for the piece of this sample. Returns false if the reader must not wait, or not
  // any longer.
  bool pause(const Sample& sample);
  // The reader does not wait for the sample any more.
  void found() { awaited_ = 0; }

  // The sample that the reader waits for.
  [[nodiscard]] std::optional<Sample> awaited() const;
  // Ends the present wait and all later ones.
  void stop();

 private:
  bool waits_ = false;
  std::atomic<std::uint64_t> awaited_ = 0;  // source + 1 (16 bits) and sample (48 bits); 0: nothing
  std::atomic<std::uint32_t> stopped_ = 0;
  static_assert(sizeof(stopped_) == sizeof(std::uint32_t));  // a futex
};

// Where the samples of sources in pieces lie, and how long they are. Keeps the indices of the
// pieces that were read last. Not thread-safe.
class Pieces {
 public:
  struct Piece {
    std::string path;
    std::uint64_t first = 0;  // number of the piece's first sample in the source
    MegatronIndex index;
  };

  // `sources` must outlive this object. `kept`: for how many samples of each source the
  // lengths and offsets stay in memory.
  Pieces(std::span<const SourceIndex> sources, std::uint64_t kept, std::shared_ptr<PieceWait> wait)
      : sources_(sources), kept_max_(kept), wait_(std::move(wait)), kept_(sources.size()) {}

  // The piece with this sample of a source in pieces. The result is valid until the next call.
  // Waits for the piece if `wait` allows it. kNotFound: the piece does not exist; the text names
  // the input file and its records. Other errors name the piece.
  base::Result<const Piece*> of(std::uint32_t source, std::uint64_t sample);

 private:
  struct Kept {
    std::map<std::uint64_t, Piece> pieces;  // by `first`
    std::deque<std::uint64_t> order;  // keys of `pieces`, in the order in which they were read
    std::uint64_t samples = 0;
  };

  std::span<const SourceIndex> sources_;
  std::uint64_t kept_max_;
  std::shared_ptr<PieceWait> wait_;
  std::vector<Kept> kept_;  // by source
};

}  // namespace robustrun::loader
