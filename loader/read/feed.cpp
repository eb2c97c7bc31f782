#include "loader/read/feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "loader/index/shared_index.h"

namespace robustrun::loader {
namespace {

constexpr std::uint64_t kBatchPlacesMax = 1U << 30U;  // segments are 32-bit numbers
// Of lengths and places of each source in pieces: 12 bytes per sample.
constexpr std::uint64_t kWindowsKept = 4;
constexpr std::uint64_t kSamplesKeptMax = 1U << 22U;  // of one window

}  // namespace

Feed::Feed(std::shared_ptr<const Inputs> inputs)
    : inputs_(std::move(inputs)),
      files_(std::make_shared<TokenFiles>(inputs_->sources, kept_samples(inputs_->spec), wait_)) {}

std::uint64_t Feed::kept_samples(const Spec& spec) {
  const std::uint64_t block = std::max(kPieceRecords, std::uint64_t{spec.shuffle.block});
  return std::min(kSamplesKeptMax, block * spec.shuffle.window) * kWindowsKept;
}

base::Result<std::unique_ptr<Feed>> Feed::open(Spec spec, const std::string& folder,
                                               std::uint32_t rank, std::uint32_t ranks,
                                               const std::string& shared) {
  RR_TRY(check(spec));
  RR_TRY(check_ranks(spec, ranks));
  if (rank >= ranks) {
    return base::fail(base::Errc::kInvalidArgument,
                      fmt::format("rank {} is not below the number of ranks, {}", rank, ranks));
  }
  if (std::uint64_t{spec.batch.bins} / ranks * spec.batch.context > kBatchPlacesMax) {
    return base::fail(base::Errc::kLimit,
                      fmt::format("a rank's share of a step is above {} tokens; make batch.tokens "
                                  "smaller",
                                  kBatchPlacesMax));
  }
  std::vector<SourceIndex> sources = RR_TRY(read_indices(spec, folder, shared));
  std::unique_ptr<Feed> feed(
      new Feed(std::make_shared<const Inputs>(std::move(spec), rank, ranks, std::move(sources))));
  RR_TRY(feed->seek({}));
  return feed;
}

base::Result<std::unique_ptr<Feed>> Feed::anew(Cursor cursor) const {
  std::unique_ptr<Feed> feed(new Feed(inputs_));
  RR_TRY(feed->seek(std::move(cursor)));
  return feed;
}

base::Result<Planner> Feed::planner_of(Cursor cursor, std::shared_ptr<TokenFiles> files) const {
  std::vector<SampleLengths> lengths;
  for (std::uint32_t i = 0; i < inputs_->sources.size(); ++i) {
    const SourceIndex& source = inputs_->sources[i];
    if (source.in_pieces) {
      lengths.emplace_back(*source.in_pieces,
                           [files, i](std::uint64_t sample) { return files->length(i, sample); });
    } else {
      lengths.emplace_back(source.lengths);
    }
  }
  for (const Piece& piece : cursor.carry) {
    const bool exists = piece.source < lengths.size() &&
                        piece.sample < lengths[piece.source].samples() && piece.length >= 1 &&
                        piece.length <= spec().batch.context;
    if (exists) {
      const SourceIndex& source = inputs_->sources[piece.source];
      // Otherwise TokenFiles::read() finds it out.
      if (source.in_pieces) continue;
      if (std::uint64_t{piece.offset} + piece.length <= source.lengths[piece.sample]) continue;
    }
    return base::fail(base::Errc::kCorrupt, "the state has a document that is not there");
  }
  for (const SourceCursor& source : cursor.sources) {
    if (source.owed > 2 * Mixture::kOne || source.owed < -2 * Mixture::kOne) {
      return base::fail(base::Errc::kCorrupt, "the state has a source that was owed too much");
    }
  }
  return Planner::open(spec(), std::move(lengths), std::move(cursor));
}

base::Result<Planner> Feed::planner(Cursor cursor) const {
  return planner_of(std::move(cursor),
                    std::make_shared<TokenFiles>(inputs_->sources, kept_samples(spec()),
                                                 std::make_shared<PieceWait>()));
}

base::Status Feed::seek(Cursor cursor) {
  planner_ = std::make_unique<Planner>(RR_TRY(planner_of(std::move(cursor), files_)));
  steps_.clear();
  begun_ = false;
  return {};
}

base::Result<bool> Feed::goes_on(const Piece& piece) {
  if (spec().batch.longer != Long::kSplit) return false;
  return piece.offset + piece.length < RR_TRY(files_->length(piece.source, piece.sample));
}

base::Status Feed::complete(Step& step) {
  std::vector<std::uint64_t> costs;
  for (const Bin& bin : step.plan.bins) costs.push_back(bin.cost);
  step.mine = std::move(
      deal(costs, inputs_->ranks, spec().batch.micro, spec().balance.sync)[inputs_->rank]);
  for (const Piece& piece : step.plan.pieces) {
    step.labels += piece.length - (RR_TRY(goes_on(piece)) ? 0 : 1);
  }
  for (const auto& micro : step.mine) {
    for (const std::uint32_t bin : micro) {
      for (const std::uint32_t index : step.plan.bins[bin].pieces) {
        const Piece& piece = step.plan.pieces[index];
        files_->read_ahead(piece.source, piece.sample, piece.offset, piece.length);
      }
    }
  }
  return {};
}

base::Status Feed::plan_ahead(std::size_t needed) {
  while (steps_.size() <= needed + kStepsAhead) {
    const bool is_needed = steps_.size() <= needed;
    wait_->let(is_needed);
    auto step = std::make_shared<Step>();
    step->began = planner_->cursor();
    base::Status done;
    if (auto plan = planner_->next()) {
      step->plan = *std::move(plan);
      step->ended = planner_->cursor();
      done = complete(*step);
      if (!done) planner_ = std::make_unique<Planner>(RR_TRY(planner_of(step->began, files_)));
    } else {
      done = std::unexpected(plan.error());
    }
    if (!done && is_needed) return done;
    if (!done) return {};  // it is told when its turn comes
    steps_.push_back(std::move(step));
  }
  return {};
}

base::Status Feed::next_step() {
  const std::size_t next = begun_ ? 1 : 0;
  RR_TRY(plan_ahead(next));
  if (begun_) steps_.pop_front();
  begun_ = true;
  return {};
}

std::optional<Feed::Reading> Feed::reading() const {
  if (const auto sample = wait_->awaited()) {
    const auto& files = inputs_->sources[sample->source].files;
    const auto after = std::ranges::upper_bound(files, sample->number, {}, &IndexedFile::first);
    return Reading{&spec().sources[sample->source].name, std::prev(after)->path, sample->number};
  }
  const auto file = files_->reading();
  if (!file) return std::nullopt;
  return Reading{&spec().sources[file->source].name, file->path, std::nullopt};
}

std::uint32_t Feed::sequences() const {
  return spec().batch.bins / (inputs_->ranks * spec().batch.micro);
}

std::size_t Feed::places() const { return std::size_t{sequences()} * spec().batch.context; }

std::size_t Feed::segment_ends(std::uint32_t micro) const {
  std::size_t ends = 1;
  for (const std::uint32_t bin : present()->mine[micro]) {
    const Bin& one = present()->plan.bins[bin];
    ends += one.pieces.size() + (one.tokens < spec().batch.context ? 1 : 0);
  }
  return ends;
}

base::Result<std::uint64_t> Feed::read(std::uint32_t micro, const BatchOut& out) {
  const Step& step = *present();
  wait_->let(true);
  RR_ASSERT(out.tokens.size() == places() && out.labels.size() == places() &&
            out.positions.size() == places() && out.segments.size() == segment_ends(micro));
  std::uint64_t labels = 0;
  std::size_t at = 0;
  std::size_t segment = 0;
  out.segments[segment++] = 0;
  const auto end_segment = [&] { out.segments[segment++] = static_cast<std::int32_t>(at); };
  for (const std::uint32_t bin : step.mine[micro]) {
    for (const std::uint32_t index : step.plan.bins[bin].pieces) {
      const Piece& piece = step.plan.pieces[index];
      const std::size_t labelled = RR_TRY(goes_on(piece)) ? piece.length : piece.length - 1;
      const RawTokens raw =
          RR_TRY(files_->read(piece.source, piece.sample, piece.offset, labelled + 1));
      const auto tokens = out.tokens.subspan(at, piece.length);
      const auto piece_labels = out.labels.subspan(at, piece.length);
      raw.widen(0, tokens);
      std::ranges::copy(tokens.subspan(1), piece_labels.begin());
      piece_labels.back() = kNoLabel;
      if (labelled == piece.length) raw.widen(labelled, piece_labels.last(1));
      const auto positions = out.positions.subspan(at, piece.length);
      std::iota(positions.begin(), positions.end(), std::int64_t{0});
      labels += labelled;
      at += piece.length;
      end_segment();
    }
    const std::uint32_t padding = spec().batch.context - step.plan.bins[bin].tokens;
    for (std::uint32_t i = 0; i < padding; ++i, ++at) {
      out.tokens[at] = 0;
      out.labels[at] = kNoLabel;
      out.positions[at] = i;
    }
    if (padding > 0) end_segment();
  }
  RR_ASSERT(at == places() && segment == out.segments.size());
  return labels;
}

}  // namespace robustrun::loader
