#pragma once
// Plans steps: from a cursor, computes what the next step contains, and the next cursor. Pure.
//
// A cursor is a position between two steps and the planner's whole state. A step depends only on
// the specification, the samples' lengths and the cursor, and not on the number of ranks.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/core/result.h"
#include "loader/plan/mixture.h"
#include "loader/plan/order.h"
#include "loader/plan/spec.h"

namespace robustrun::loader {

// A document or a part of one.
struct Piece {
  std::uint32_t source = 0;  // index into Spec::sources
  std::uint32_t offset = 0;  // in tokens of the sample
  std::uint32_t length = 0;  // tokens, at least 1 and at most the context
  std::uint64_t sample = 0;
  bool operator==(const Piece&) const = default;
};

struct SourceCursor {
  std::uint64_t position = 0;  // samples drawn so far, over all epochs
  std::int64_t owed = 0;  // Mixture::owed()
  bool operator==(const SourceCursor&) const = default;
};

struct Cursor {
  std::uint64_t step = 0;  // number of the step after the cursor
  std::vector<SourceCursor> sources;
  std::vector<Piece> carry;  // pieces that the step before left for this one; at most kCarryMax
  std::uint64_t dropped = 0;  // pieces left out so far (Leftover::kDrop)
  bool operator==(const Cursor&) const = default;
};

struct Bin {
  std::vector<std::uint32_t> pieces;  // indices into StepPlan::pieces, ascending
  std::uint32_t tokens = 0;
  std::uint64_t cost = 0;  // millionths; Spec::balance
};

struct StepPlan {
  std::uint64_t step = 0;
  std::vector<Piece> pieces;  // in the order in which they were drawn
  std::vector<Bin> bins;  // as many as Spec::batch.bins
};

// The lengths of a source's samples, in tokens: either all are known, or Ask returns each.
class SampleLengths {
 public:
  using Ask = std::function<base::Result<std::uint32_t>(std::uint64_t sample)>;

  explicit SampleLengths(std::span<const std::uint32_t> known)
      : samples_(known.size()), known_(known) {}
  SampleLengths(std::uint64_t samples, Ask ask) : samples_(samples), ask_(std::move(ask)) {}

  [[nodiscard]] std::uint64_t samples() const { return samples_; }
  [[nodiscard]] base::Result<std::uint32_t> of(std::uint64_t sample) const {
    if (ask_) return ask_(sample);
    return known_[sample];
  }
  // Whether no sample has tokens; with Ask, whether there is no sample.
  [[nodiscard]] bool are_zero() const;

 private:
  std::uint64_t samples_;
  std::span<const std::uint32_t> known_;
  Ask ask_;  // null: known_ has all lengths
};

// The order of a source's samples in an epoch. `samples`: number of samples, at least 1.
[[nodiscard]] Order order_of(const Spec& spec, std::size_t source, std::uint64_t samples,
                             std::uint64_t epoch);

// The cost of a document of `length` tokens, in millionths (Spec::balance).
[[nodiscard]] std::uint64_t cost_of(const Spec& spec, std::uint32_t length);

// A hash of the plan's contents, to compare the plans of different processes.
[[nodiscard]] std::uint64_t digest(const StepPlan& plan);

class Planner {
 public:
  // `spec`: passes check(). `lengths`: one per source. `spec` and the memory that `lengths` refers
  // to must outlive the planner. `from`: a cursor of the same specification, or {} for the
  // beginning. kInvalidArgument: a source has no tokens (the text names the source), or `from` has
  // another number of sources.
  [[nodiscard]] static base::Result<Planner> open(const Spec& spec,
                                                  std::vector<SampleLengths> lengths,
                                                  Cursor from = {});

  // Plans the step after the cursor and moves the cursor past it. kLimit: a document is longer than
  // the context (Long::kRefuse); a document fits into no step (Leftover::kPad); the step needs too
  // many samples; or more than kCarryMax pieces would be carried over. Other errors are those of
  // SampleLengths::of(). After an error the cursor is where it was.
  [[nodiscard]] base::Result<StepPlan> next();

  [[nodiscard]] const Cursor& cursor() const { return cursor_; }

 private:
  Planner(const Spec& spec, std::vector<SampleLengths> lengths, Cursor from);

  // Appends the pieces of the next sample and returns its source; moves `mixture` and `cursor`.
  base::Result<std::uint32_t> draw(Mixture& mixture, Cursor& cursor, std::vector<Piece>& pieces);
  std::uint64_t sample_at(std::uint32_t source, std::uint64_t position);

  const Spec* spec_;
  std::vector<SampleLengths> lengths_;
  struct Epoch {
    std::uint64_t begin;  // position
    Order order;
  };
  std::vector<std::optional<Epoch>> epochs_;  // current epoch of each source
  Cursor cursor_;
};

}  // namespace robustrun::loader
