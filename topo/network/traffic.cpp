// Volumes: Arnold's formulas (arXiv 2509.15940, appendix C) for V words, sequences of s tokens,
// width h and l layers, in elements:
//
//     gradients of a rank   h (V + s) + l/pp (4 h^2 + 2 h + 8 h^2 + 7 h)
//     a micro-batch in PP   2 mb s h        (activations forward, gradients back)
//
// The paper's nodes hold whole tensors; tp divides both, cp the tokens of a sequence. A step has
// gb / (mb dp) micro-batches, and a ring of n ranks sends each element 2 (n - 1) / n times.
//
// Weights: when a group is spread, its traffic loses bandwidth: up to 17 % for collectives, 70 %
// for point to point (ibid., section 2). So with known volumes
//
//     alpha = 0.17 DP / (0.17 DP + 0.70 PP), at most 0.5 (ibid., section 5: never above)

#include "topo/network/traffic.h"
#include "topo/network/complaint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/core/text.h"

namespace robustrun::topo {
namespace {

using base::Errc;
using base::fail;
using base::Result;

constexpr double kLossOfCollectives = 0.17;
constexpr double kLossOfPointToPoint = 0.70;
constexpr double kAffinityOfExperts = 0.3;
constexpr double kAffinityMax = 0.5;
// Weights against DP and PP together if no volumes are known: TP communicates four times per layer,
// CP and EP once or twice, PP once for all layers of a stage.
constexpr std::array<double, kGroupKinds> kHeavy = {16, 4, 4, 0, 0};
constexpr std::uint64_t kSizeMax = 1'000'000'000;  // of each dimension of the model
constexpr double kBytesMax = 1e18;

std::size_t at(GroupKind kind) { return static_cast<std::size_t>(kind); }

struct Item {
  std::string_view name, value;
};

std::optional<Item> item_of(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  return Item{base::trim(text.substr(0, equals)), base::trim(text.substr(equals + 1))};
}

std::uint32_t bytes_of_type(std::string_view name) {
  struct Type {
    std::string_view name;
    std::uint32_t bytes;
  };
  constexpr std::array<Type, 9> kTypes = {{{"fp32", 4},
                                           {"float32", 4},
                                           {"tf32", 4},
                                           {"bf16", 2},
                                           {"bfloat16", 2},
                                           {"fp16", 2},
                                           {"float16", 2},
                                           {"fp8", 1},
                                           {"int8", 1}}};
  const auto found = std::ranges::find(kTypes, name, &Type::name);
  return found == kTypes.end() ? 0 : found->bytes;
}

// "30MB"; nullopt: not a volume.
std::optional<double> parse_bytes(std::string_view text) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  constexpr std::array<Unit, 11> kUnits = {{{"", 1},
                                            {"B", 1},
                                            {"kB", 1e3},
                                            {"KB", 1e3},
                                            {"MB", 1e6},
                                            {"GB", 1e9},
                                            {"TB", 1e12},
                                            {"KiB", 0x1p10},
                                            {"MiB", 0x1p20},
                                            {"GiB", 0x1p30},
                                            {"TiB", 0x1p40}}};
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc{} || !std::isfinite(number) || number < 0) return std::nullopt;
  const std::string_view unit = base::trim(std::string_view(parsed.ptr, end));
  const auto found = std::ranges::find(kUnits, unit, &Unit::name);
  if (found == kUnits.end() || number * found->bytes > kBytesMax) return std::nullopt;
  return number * found->bytes;
}

// How many times a ring of `ranks` sends each element of a reduction.
double ring_factor(double ranks) { return 2 * (ranks - 1) / ranks; }

// Millionths in the proportion of `shares`, with the sum of a million; all 0 if all shares are 0.
Weights in_millionths(const std::array<double, kGroupKinds>& shares) {
  Weights weights;
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (sum <= 0) return weights;
  for (std::size_t kind = 0; kind < kGroupKinds; ++kind) {
    weights.of_kind[kind] = std::llround(shares[kind] / sum * static_cast<double>(kWhole));
  }
  *std::ranges::max_element(weights.of_kind) +=
      kWhole - std::accumulate(weights.of_kind.begin(), weights.of_kind.end(), std::int64_t{0});
  return weights;
}

double affinity_of(const Parallel& parallel, const Traffic& traffic,
                   std::optional<double> affinity) {
  if (parallel.pp == 1) return 1;
  if (parallel.dp == 1 && parallel.cp == 1) return 0;
  if (affinity) return *affinity;
  const double dp = kLossOfCollectives * traffic.of(GroupKind::kDp);
  const double pp = kLossOfPointToPoint * traffic.of(GroupKind::kPp);
  if (dp > 0 && pp > 0) return std::min(kAffinityMax, dp / (dp + pp));
  return parallel.ep > 1 ? kAffinityOfExperts : 0;
}

}  // namespace

bool Traffic::known() const {
  return std::ranges::any_of(bytes, [](double volume) { return volume > 0; });
}

Result<Model> parse_model(std::string_view text) {
  struct Field {
    std::string_view name;
    std::uint64_t Model::* member;
    bool required;
  };
  constexpr std::array<Field, 6> kFields = {{{"vocab", &Model::vocab, true},
                                             {"seq", &Model::sequence, true},
                                             {"hidden", &Model::hidden, true},
                                             {"layers", &Model::layers, true},
                                             {"micro-batch", &Model::micro_batch, false},
                                             {"global-batch", &Model::global_batch, true}}};
  Model model;
  std::vector<std::string_view> seen;
  for (const std::string_view piece : base::split(text, ',')) {
    const auto item = item_of(piece);
    const auto field = item ? std::ranges::find(kFields, item->name, &Field::name) : kFields.end();
    const bool is_type = item && item->name == "dtype";
    if (!item || (field == kFields.end() && !is_type)) {
      return bad(piece,
                 "a model consists of vocab, seq, hidden, layers, micro-batch, global-batch and "
                 "dtype, each as NAME=VALUE");
    }
    if (std::ranges::find(seen, item->name) != seen.end()) {
      return bad(text, fmt::format("{} is given twice", item->name));
    }
    seen.push_back(item->name);
    if (is_type) {
      model.dtype_bytes = bytes_of_type(item->value);
      if (model.dtype_bytes == 0) return bad(piece, "the types are fp32, bf16, fp16 and fp8");
      continue;
    }
    const auto value = base::parse_int<std::uint64_t>(item->value);
    if (!value || *value == 0 || *value > kSizeMax) return bad(piece, "expected a number above 0");
    model.*(field->member) = *value;
  }
  for (const Field& field : kFields) {
    if (!field.required || std::ranges::find(seen, field.name) != seen.end()) continue;
    return bad(text, fmt::format("{} is missing", field.name));
  }
  return model;
}

Result<Traffic> parse_traffic(std::string_view text) {
  Traffic traffic;
  std::array<bool, kGroupKinds> seen{};
  for (const std::string_view piece : base::split(text, ',')) {
    const auto item = item_of(piece);
    std::size_t kind = 0;
    while (item && kind < kGroupKinds && to_string(static_cast<GroupKind>(kind)) != item->name) {
      ++kind;
    }
    if (!item || kind == kGroupKinds) {
      return bad(piece,
                 "a volume is KIND=BYTES, and the kinds are tp, cp, ep, dp and pp, as in "
                 "dp=2GB,pp=30MB");
    }
    if (std::exchange(seen[kind], true))
      return bad(text, fmt::format("{} is given twice", item->name));
    const auto volume = parse_bytes(item->value);
    if (!volume) return bad(piece, "a volume is a number of bytes: 500, 30MB, 1.5GB, 2GiB");
    traffic.bytes[kind] = *volume;
  }
  return traffic;
}

Result<Traffic> traffic_of(const Model& model, const Parallel& parallel) {
  RR_ASSERT(parallel.dp > 0 && model.hidden > 0 && model.global_batch > 0);
  const std::uint64_t at_once = model.micro_batch * parallel.dp;
  if (model.global_batch % at_once != 0) {
    return fail(Errc::kInvalidArgument,
                fmt::format("cannot divide a global batch of {} into micro-batches of {} on dp={}: "
                            "{} is no multiple of {}",
                            model.global_batch, model.micro_batch, parallel.dp, model.global_batch,
                            at_once));
  }
  const std::uint64_t micro_batches = model.global_batch / at_once;
  const auto h = static_cast<double>(model.hidden);
  const auto s = static_cast<double>(model.sequence);
  const double layers = static_cast<double>(model.layers) / parallel.pp;
  const double gradients =
      h * (static_cast<double>(model.vocab) + s) + layers * (4 * h * h + 2 * h + 8 * h * h + 7 * h);
  const double activations = 2 * static_cast<double>(model.micro_batch) * s * h;
  const double replicas = static_cast<double>(parallel.dp) * parallel.cp;
  Traffic traffic;
  traffic.bytes[at(GroupKind::kDp)] =
      gradients / parallel.tp * model.dtype_bytes * ring_factor(replicas);
  if (parallel.pp > 1) {
    traffic.bytes[at(GroupKind::kPp)] = activations / parallel.tp / parallel.cp *
                                        model.dtype_bytes * static_cast<double>(micro_batches);
  }
  return traffic;
}

Weights weights_for(const Parallel& parallel, const Traffic& traffic,
                    std::optional<double> affinity) {
  const std::array<std::uint32_t, kGroupKinds> sizes = {parallel.tp, parallel.cp, parallel.ep,
                                                        parallel.dp, parallel.pp};
  std::array<double, kGroupKinds> shares{};
  const double alpha = affinity_of(parallel, traffic, affinity);
  const bool replicated = parallel.dp != 1 || parallel.cp > 1;
  if (replicated) shares[at(GroupKind::kDp)] = alpha;
  if (parallel.pp > 1) shares[at(GroupKind::kPp)] = 1 - alpha;
  const double base = kLossOfCollectives * traffic.of(GroupKind::kDp) +
                      kLossOfPointToPoint * traffic.of(GroupKind::kPp);
  for (const GroupKind kind : {GroupKind::kTp, GroupKind::kCp, GroupKind::kEp}) {
    if (sizes[at(kind)] < 2) continue;
    const double loss = kLossOfCollectives * traffic.of(kind);
    shares[at(kind)] = loss > 0 && base > 0 ? loss / base : kHeavy[at(kind)];
  }
  return in_millionths(shares);
}

Weights only(const Weights& weights, std::span<const GroupKind> kinds) {
  std::array<double, kGroupKinds> shares{};
  for (const GroupKind kind : kinds) shares[at(kind)] = static_cast<double>(weights.of(kind));
  if (std::ranges::any_of(shares, [](double share) { return share > 0; })) {
    return in_millionths(shares);
  }
  for (const GroupKind kind : kinds) shares[at(kind)] = 1;
  return in_millionths(shares);
}

}  // namespace robustrun::topo
