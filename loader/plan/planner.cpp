#include "loader/plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/core/hash.h"
#include "loader/plan/pack.h"
#include "loader/plan/rising.h"
#include "loader/plan/wide.h"

namespace robustrun::loader {
namespace {

constexpr std::uint32_t kDrawsPerStepMax = 1U << 24;

// Says when a step has drawn enough.
class Filling {
 public:
  explicit Filling(const Spec& spec)
      : spec_(spec), budget_(std::uint64_t{spec.batch.context} * spec.batch.bins) {}

  // Whether every piece drawn has to find room at once, in the order of drawing.
  [[nodiscard]] bool in_order() const {
    return spec_.batch.pack == Pack::kNextFit || spec_.batch.leftover == Leftover::kPad;
  }
  // False: there is no room for it, so the step is full.
  bool add(std::uint32_t length) {
    if (!in_order()) {
      tokens_ += length;
      return true;
    }
    if (spec_.batch.pack == Pack::kNextFit) {
      if (bins_used_ == 0 || length > room_) {
        if (bins_used_ == spec_.batch.bins) return false;
        ++bins_used_;
        room_ = spec_.batch.context;
      }
      room_ -= length;
      return true;
    }
    auto room = rooms_.take(length);
    if (!room) {
      if (bins_used_++ == spec_.batch.bins) return false;
      room = spec_.batch.context;
    }
    if (*room > length) rooms_.add(*room - length);
    return true;
  }
  [[nodiscard]] bool is_full() const { return !in_order() && tokens_ >= budget_; }

 private:
  const Spec& spec_;
  std::uint64_t budget_;
  std::uint64_t tokens_ = 0;
  std::uint32_t bins_used_ = 0;
  std::uint32_t room_ = 0;  // next-fit: of the present bin
  Rising rooms_;            // best-fit: of bins with contents
};

std::vector<std::uint32_t> lengths_of(const std::vector<Piece>& pieces) {
  std::vector<std::uint32_t> lengths;
  lengths.reserve(pieces.size());
  for (const Piece& piece : pieces) lengths.push_back(piece.length);
  return lengths;
}

Packing packed(const Spec& spec, const std::vector<Piece>& pieces, std::size_t urgent) {
  const std::vector<std::uint32_t> lengths = lengths_of(pieces);
  const auto& batch = spec.batch;
  if (batch.pack == Pack::kNextFit) return next_fit(lengths, batch.context, batch.bins);
  Packing packing;
  if (spec.balance.sync == Sync::kMicro) {
    std::vector<std::uint64_t> costs;
    for (const std::uint32_t length : lengths) costs.push_back(cost_of(spec, length));
    packing = even_cost(lengths, costs, batch.context, batch.bins, urgent);
  } else {
    packing = best_fit(lengths, batch.context, batch.bins, urgent);
  }
  if (batch.leftover == Leftover::kPad && std::ranges::count(packing, kLeft) > 0) {
    // As the step was filled, so all has room.
    packing = best_fit_in_order(lengths, batch.context, batch.bins);
  }
  return packing;
}

}  // namespace

std::uint64_t cost_of(const Spec& spec, std::uint32_t length) {
  const Wide product = static_cast<Wide>(spec.balance.square) * length * length;
  // Divisions of wide numbers are slow.
  const std::uint64_t square = product <= std::numeric_limits<std::uint64_t>::max()
                                   ? static_cast<std::uint64_t>(product) / 1000
                                   : static_cast<std::uint64_t>(product / 1000);
  return spec.balance.linear * length + square;
}

std::uint64_t digest(const StepPlan& plan) {
  std::string text = fmt::format("{};", plan.step);
  for (const Bin& bin : plan.bins) {
    for (const std::uint32_t index : bin.pieces) {
      const Piece& piece = plan.pieces[index];
      text += fmt::format("{},{},{},{};", piece.source, piece.sample, piece.offset, piece.length);
    }
    text += '|';
  }
  return base::hash64(text);
}

bool SampleLengths::are_zero() const {
  if (ask_) return samples_ == 0;
  return std::ranges::all_of(known_, [](std::uint32_t length) { return length == 0; });
}

Order order_of(const Spec& spec, std::size_t source, std::uint64_t samples, std::uint64_t epoch) {
  const std::uint64_t key = base::hash64(spec.sources[source].name, spec.seed);
  return {mixed_key(key, epoch), samples, spec.shuffle.block, spec.shuffle.window};
}

Planner::Planner(const Spec& spec, std::vector<SampleLengths> lengths, Cursor from)
    : spec_(&spec),
      lengths_(std::move(lengths)),
      epochs_(lengths_.size()),
      cursor_(std::move(from)) {}

base::Result<Planner> Planner::open(const Spec& spec, std::vector<SampleLengths> lengths,
                                    Cursor from) {
  RR_ASSERT(lengths.size() == spec.sources.size());
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i].are_zero()) {
      return base::fail(base::Errc::kInvalidArgument,
                        fmt::format("source {} has no tokens", spec.sources[i].name));
    }
  }
  if (from.sources.empty()) from.sources.resize(spec.sources.size());
  if (from.sources.size() != spec.sources.size()) {
    return base::fail(base::Errc::kInvalidArgument,
                      fmt::format("the cursor has {} sources, the specification {}",
                                  from.sources.size(), spec.sources.size()));
  }
  return Planner(spec, std::move(lengths), std::move(from));
}

std::uint64_t Planner::sample_at(std::uint32_t source, std::uint64_t position) {
  const std::uint64_t samples = lengths_[source].samples();
  std::optional<Epoch>& epoch = epochs_[source];
  if (!epoch || position < epoch->begin || position - epoch->begin >= samples) {
    const std::uint64_t number = position / samples;
    epoch.emplace(Epoch{number * samples, order_of(*spec_, source, samples, number)});
  }
  return epoch->order.sample(position - epoch->begin);
}

base::Result<std::uint32_t> Planner::draw(Mixture& mixture, Cursor& cursor,
                                          std::vector<Piece>& pieces) {
  const std::uint32_t source = mixture.draw();
  const std::uint64_t sample = sample_at(source, cursor.sources[source].position++);
  std::uint32_t length = RR_TRY(lengths_[source].of(sample));
  const std::uint32_t context = spec_->batch.context;
  if (length > context && spec_->batch.longer == Long::kRefuse) {
    return base::fail(base::Errc::kLimit,
                      fmt::format("sample {} of source {} has {} tokens, more than batch.context = "
                                  "{}; set batch.long to split or truncate",
                                  sample, spec_->sources[source].name, length, context));
  }
  if (spec_->batch.longer == Long::kTruncate) length = std::min(length, context);
  for (std::uint32_t offset = 0; offset < length;) {
    const std::uint32_t part = std::min(length - offset, context);
    pieces.push_back({source, offset, part, sample});
    offset += part;
  }
  return source;
}

base::Result<StepPlan> Planner::next() {
  Cursor after = cursor_;
  StepPlan plan;
  plan.step = after.step;
  plan.pieces = std::exchange(after.carry, {});
  const std::size_t urgent = plan.pieces.size();

  std::vector<std::int64_t> owed;
  std::vector<std::uint64_t> weights;
  for (std::size_t i = 0; i < spec_->sources.size(); ++i) {
    owed.push_back(after.sources[i].owed);
    weights.push_back(weight_at(spec_->sources[i], plan.step));
  }
  Mixture mixture(std::move(owed));
  mixture.set_weights(weights);

  Filling filling(*spec_);
  for (const Piece& piece : plan.pieces) static_cast<void>(filling.add(piece.length));
  for (std::uint32_t draws = 0; !filling.is_full(); ++draws) {
    if (draws == kDrawsPerStepMax) {
      return base::fail(base::Errc::kLimit,
                        fmt::format("step {} would need more than {} samples; make batch.tokens "
                                    "smaller",
                                    plan.step, kDrawsPerStepMax));
    }
    const std::size_t first = plan.pieces.size();
    const std::uint32_t source = RR_TRY(draw(mixture, after, plan.pieces));
    const bool fits =
        std::all_of(plan.pieces.begin() + static_cast<std::ptrdiff_t>(first), plan.pieces.end(),
                    [&](const Piece& piece) { return filling.add(piece.length); });
    if (fits) continue;
    if (spec_->batch.leftover == Leftover::kPad) {  // it opens the next step
      if (first == 0) {
        return base::fail(
            base::Errc::kLimit,
            fmt::format("sample {} of source {} does not fit into a step; set batch.leftover to "
                        "carry, or batch.long to truncate",
                        plan.pieces.front().sample, spec_->sources[source].name));
      }
      plan.pieces.resize(first);
      mixture.take_back(source);
      --after.sources[source].position;
    }
    break;
  }
  for (std::size_t i = 0; i < after.sources.size(); ++i) after.sources[i].owed = mixture.owed()[i];

  const Packing packing = packed(*spec_, plan.pieces, urgent);
  std::vector<Piece> placed;
  placed.reserve(plan.pieces.size());
  plan.bins.resize(spec_->batch.bins);
  std::vector<std::uint32_t> counts(spec_->batch.bins);
  for (const std::uint32_t bin : packing) {
    if (bin != kLeft) ++counts[bin];
  }
  for (std::size_t i = 0; i < counts.size(); ++i) plan.bins[i].pieces.reserve(counts[i]);
  for (std::size_t i = 0; i < plan.pieces.size(); ++i) {
    const Piece& piece = plan.pieces[i];
    if (packing[i] == kLeft) {
      if (spec_->batch.leftover == Leftover::kDrop) {
        ++after.dropped;
      } else {
        after.carry.push_back(piece);
      }
      continue;
    }
    Bin& bin = plan.bins[packing[i]];
    bin.pieces.push_back(static_cast<std::uint32_t>(placed.size()));
    bin.tokens += piece.length;
    bin.cost += cost_of(*spec_, piece.length);
    placed.push_back(piece);
  }
  plan.pieces = std::move(placed);
  if (after.carry.size() > kCarryMax) {
    return base::fail(
        base::Errc::kLimit,
        fmt::format("step {} leaves {} documents for the next one, more than {}; make "
                    "batch.tokens or batch.context larger",
                    plan.step, after.carry.size(), kCarryMax));
  }
  ++after.step;
  cursor_ = std::move(after);
  return plan;
}

}  // namespace robustrun::loader
