#include "loader/read/feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace robustrun::loader {
namespace {

constexpr std::uint64_t kBatchPlacesMax = 1U << 30U;  // segments are 32-bit numbers

}  // namespace

Feed::Feed(Spec spec, std::uint32_t rank, std::uint32_t ranks)
    : spec_(std::move(spec)), rank_(rank), ranks_(ranks) {}

base::Result<std::unique_ptr<Feed>> Feed::open(Spec spec, const std::string& folder,
                                               std::uint32_t rank, std::uint32_t ranks) {
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
  std::unique_ptr<Feed> feed(new Feed(std::move(spec), rank, ranks));
  for (const Source& source : feed->spec_.sources) {
    feed->sources_.push_back(RR_TRY(read_index(feed->spec_, source, folder, Lengths::kExact)));
  }
  feed->files_ = std::make_unique<TokenFiles>(feed->sources_);
  RR_TRY(feed->seek({}));
  return feed;
}

base::Status Feed::seek(Cursor cursor) {
  std::vector<std::span<const std::uint32_t>> lengths;
  for (const SourceIndex& source : sources_) lengths.emplace_back(source.lengths);
  for (const Piece& piece : cursor.carry) {
    const bool exists =
        piece.source < sources_.size() && piece.sample < lengths[piece.source].size() &&
        piece.length >= 1 && piece.length <= spec_.batch.context &&
        std::uint64_t{piece.offset} + piece.length <= lengths[piece.source][piece.sample];
    if (!exists)
      return base::fail(base::Errc::kCorrupt, "the state has a document that is not there");
  }
  for (const SourceCursor& source : cursor.sources) {
    if (std::abs(source.owed) > 2 * Mixture::kOne) {
      return base::fail(base::Errc::kCorrupt, "the state has a source that was owed too much");
    }
  }
  auto planner = RR_TRY(Planner::open(spec_, std::move(lengths), std::move(cursor)));
  planner_ = std::make_unique<Planner>(std::move(planner));
  steps_.clear();
  begun_ = false;
  return {};
}

bool Feed::goes_on(const Piece& piece) const {
  return spec_.batch.longer == Long::kSplit &&
         piece.offset + piece.length < sources_[piece.source].lengths[piece.sample];
}

base::Status Feed::plan_ahead(std::size_t needed) {
  while (steps_.size() <= needed + kStepsAhead) {
    Step step;
    step.began = planner_->cursor();
    auto plan = planner_->next();
    if (!plan) {
      if (steps_.size() > needed) return {};  // it is told when its turn comes
      return std::unexpected(plan.error());
    }
    step.plan = *std::move(plan);
    step.ended = planner_->cursor();
    std::vector<std::uint64_t> costs;
    for (const Bin& bin : step.plan.bins) costs.push_back(bin.cost);
    step.mine = std::move(deal(costs, ranks_, spec_.batch.micro, spec_.balance.sync)[rank_]);
    for (const Piece& piece : step.plan.pieces) {
      step.labels += piece.length - (goes_on(piece) ? 0 : 1);
    }
    for (const auto& micro : step.mine) {
      for (const std::uint32_t bin : micro) {
        for (const std::uint32_t index : step.plan.bins[bin].pieces) {
          const Piece& piece = step.plan.pieces[index];
          files_->read_ahead(piece.source, piece.sample, piece.offset, piece.length);
        }
      }
    }
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

std::uint32_t Feed::sequences() const { return spec_.batch.bins / (ranks_ * spec_.batch.micro); }

std::size_t Feed::segment_ends(std::uint32_t micro) const {
  std::size_t ends = 1;
  for (const std::uint32_t bin : steps_.front().mine[micro]) {
    const Bin& one = steps_.front().plan.bins[bin];
    ends += one.pieces.size() + (one.tokens < spec_.batch.context ? 1 : 0);
  }
  return ends;
}

base::Result<std::uint64_t> Feed::read(std::uint32_t micro, const BatchOut& out) {
  const Step& step = steps_.front();
  const std::size_t places = std::size_t{sequences()} * spec_.batch.context;
  RR_ASSERT(out.tokens.size() == places && out.labels.size() == places &&
            out.positions.size() == places && out.segments.size() == segment_ends(micro));
  std::uint64_t labels = 0;
  std::size_t at = 0;
  std::size_t segment = 0;
  out.segments[segment++] = 0;
  std::vector<std::int64_t> tokens;
  const auto end_segment = [&] { out.segments[segment++] = static_cast<std::int32_t>(at); };
  for (const std::uint32_t bin : step.mine[micro]) {
    for (const std::uint32_t index : step.plan.bins[bin].pieces) {
      const Piece& piece = step.plan.pieces[index];
      const bool more = goes_on(piece);
      tokens.resize(piece.length + (more ? 1U : 0U));
      RR_TRY(files_->read(piece.source, piece.sample, piece.offset, tokens));
      for (std::uint32_t i = 0; i < piece.length; ++i, ++at) {
        out.tokens[at] = tokens[i];
        const bool labelled = i + 1 < tokens.size();
        out.labels[at] = labelled ? tokens[i + 1] : kNoLabel;
        out.positions[at] = i;
        labels += labelled ? 1 : 0;
      }
      end_segment();
    }
    const std::uint32_t padding = spec_.batch.context - step.plan.bins[bin].tokens;
    for (std::uint32_t i = 0; i < padding; ++i, ++at) {
      out.tokens[at] = 0;
      out.labels[at] = kNoLabel;
      out.positions[at] = i;
    }
    if (padding > 0) end_segment();
  }
  RR_ASSERT(at == places && segment == out.segments.size());
  return labels;
}

}  // namespace robustrun::loader
