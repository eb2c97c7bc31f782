#pragma once
// One rank's batches, step after step: the plan of each step, and the tokens of this rank's share.
// Blocks; not thread-safe.
//
// Each rank plans by itself. The plan is a pure function, so all ranks agree without communication.
//
// If text is tokenized while the training runs (Source::texts), next_step() waits for the pieces of
// text (loader/index/pieces.h) that the next step needs. Later steps are planned only as far as
// their pieces of text exist.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "loader/plan/balance.h"
#include "loader/plan/planner.h"
#include "loader/read/token_files.h"

namespace robustrun::loader {

inline constexpr std::size_t kStepsAhead = 2;  // steps planned, and read ahead by the kernel
inline constexpr std::int64_t kNoLabel = -100;  // torch's ignore_index

// Where a batch is written. `tokens`, `labels` and `positions` have Feed::places() elements each,
// `segments` has Feed::segment_ends().
struct BatchOut {
  std::span<std::int64_t> tokens;  // padding is 0
  std::span<std::int64_t> labels;  // the next token of the same document, or kNoLabel
  std::span<std::int64_t> positions;  // within the Piece or the padding, from 0
  std::span<std::int32_t> segments;  // Feed::segment_ends()
};

class Feed {
 public:
  struct Step {
    Cursor began;
    Cursor ended;
    StepPlan plan;
    std::uint64_t labels = 0;  // over all ranks, not counting kNoLabel
    std::vector<std::vector<std::uint32_t>> mine;  // this rank's bins in each micro-batch
  };

  // Reads the indices of all sources; relative paths are relative to `folder`. `shared`: as in
  // read_indices(). Every error is one sentence.
  [[nodiscard]] static base::Result<std::unique_ptr<Feed>> open(Spec spec,
                                                                const std::string& folder,
                                                                std::uint32_t rank,
                                                                std::uint32_t ranks,
                                                                const std::string& shared = {});
  // A new feed at the step after `cursor`, which shares this feed's indices. Another thread may be
  // using this feed at the same time. Errors: as seek().
  [[nodiscard]] base::Result<std::unique_ptr<Feed>> anew(Cursor cursor) const;

  // Continues with the step after `cursor`, which must be of the same specification. kCorrupt: the
  // cursor has a Piece that does not exist, or an impossible SourceCursor::owed. Other errors:
  // those of Planner::open(). After an error the feed is where it was.
  [[nodiscard]] base::Status seek(Cursor cursor);
  // A planner at `cursor`, to look at plans without moving this feed, which must outlive the
  // planner. The planner does not wait for pieces of text: a missing one is an error.
  [[nodiscard]] base::Result<Planner> planner(Cursor cursor) const;
  // Goes to the next step; the first call after open() or seek() goes to the step after the cursor.
  // After an error, the current step stays current.
  [[nodiscard]] base::Status next_step();

  // The current step. The object does not change, and may outlive the feed. This function,
  // segment_ends() and read() require that next_step() has succeeded since open() or the last
  // seek().
  [[nodiscard]] const std::shared_ptr<const Step>& present() const { return steps_.front(); }

  [[nodiscard]] const Spec& spec() const { return inputs_->spec; }
  [[nodiscard]] std::uint32_t sequences() const;  // of one micro-batch
  [[nodiscard]] std::size_t places() const;  // tokens and padding of one micro-batch
  [[nodiscard]] std::uint64_t samples_of(std::size_t source) const {
    return inputs_->sources[source].samples();
  }
  [[nodiscard]] std::uint64_t fingerprint_of(std::size_t source) const {
    const SourceIndex& index = inputs_->sources[source];
    return index.known_fingerprint ? *index.known_fingerprint : fingerprint(index);
  }

  // How many numbers read() writes to BatchOut::segments. These are 0, then the ends of all pieces
  // and of the padding in the micro-batch, in tokens (the cu_seqlens of attention over packed
  // sequences). At most places() + 1.
  [[nodiscard]] std::size_t segment_ends(std::uint32_t micro) const;
  // Reads a micro-batch of this rank. Returns its number of labels, not counting kNoLabel.
  [[nodiscard]] base::Result<std::uint64_t> read(std::uint32_t micro, const BatchOut& out);

  // The file that is being read at the moment, or of which the feed waits for a piece of text, and
  // the source's name. The texts are valid while this feed or one made by its anew() exists.
  struct Reading {
    const std::string* source = nullptr;
    std::string_view path;
    std::optional<std::uint64_t> awaited;  // the sample whose tokens the feed waits for
  };
  // nullopt: no file is being read. Any thread.
  [[nodiscard]] std::optional<Reading> reading() const;
  // Ends the current wait for a piece of text with an error; later waits fail, too. Any thread.
  void stop_waiting() { wait_->stop(); }

 private:
  struct Inputs {
    Spec spec;
    std::uint32_t rank = 0;
    std::uint32_t ranks = 1;
    std::vector<SourceIndex> sources;
  };

  explicit Feed(std::shared_ptr<const Inputs> inputs);
  // Plans until steps_ has the index `needed` and kStepsAhead further entries. A failure after
  // `needed` is not reported yet.
  base::Status plan_ahead(std::size_t needed);
  [[nodiscard]] base::Result<Planner> planner_of(Cursor cursor,
                                                 std::shared_ptr<TokenFiles> files) const;
  // Fills in `labels` and `mine` of a planned step, and has the kernel read its tokens ahead.
  [[nodiscard]] base::Status complete(Step& step);
  // Whether the document goes on after the piece. What Long::kTruncate cuts off does not count.
  [[nodiscard]] base::Result<bool> goes_on(const Piece& piece);
  [[nodiscard]] static std::uint64_t kept_samples(const Spec& spec);

  std::shared_ptr<const Inputs> inputs_;
  std::shared_ptr<PieceWait> wait_ = std::make_shared<PieceWait>();
  std::shared_ptr<TokenFiles> files_;
  std::unique_ptr<Planner> planner_;
  std::deque<std::shared_ptr<const Step>> steps_;  // the current one, then the planned ones
  bool begun_ = false;
};

}  // namespace robustrun::loader
