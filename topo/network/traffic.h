#pragma once
// The traffic of each kind of group, and the weight of the kind in the cost of a placement. Pure.
//
// Volumes are bytes that one rank sends per step. They are given, or computed from the model's
// shape by Arnold's formulas (arXiv 2509.15940, appendix C), or unknown. Without volumes, DP and PP
// have the paper's weights: 0 and 1 for dense models, 0.3 and 0.7 for mixtures of experts.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/core/result.h"
#include "topo/network/parallel.h"

namespace robustrun::topo {

// Bytes per rank and step, by GroupKind; 0: none or unknown.
struct Traffic {
  std::array<double, kGroupKinds> bytes{};
  [[nodiscard]] double of(GroupKind kind) const { return bytes[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] bool known() const;
};

// The shape of a transformer model and its batch sizes, as Arnold's formulas need them.
struct Model {
  std::uint64_t vocab = 0, sequence = 0, hidden = 0, layers = 0;
  std::uint64_t micro_batch = 1, global_batch = 0;  // in sequences
  std::uint32_t dtype_bytes = 2;  // of activations and gradients
};

// "vocab=50257,seq=2048,hidden=4096,layers=32,micro-batch=1,global-batch=512,dtype=bf16"
base::Result<Model> parse_model(std::string_view text);
// "dp=2GB,pp=30MB": bytes per rank and step; kB, MB, GB are powers of 1000, KiB ... of 1024.
base::Result<Traffic> parse_traffic(std::string_view text);

// `parallel` must be resolved. kInvalidArgument: global_batch is no multiple of micro_batch * dp.
base::Result<Traffic> traffic_of(const Model& model, const Parallel& parallel);

// By kind: the weight of one unit of spread (solve/score.h), in millionths. The weights sum to a
// million, or all are 0.
struct Weights {
  std::array<std::int64_t, kGroupKinds> of_kind{};
  [[nodiscard]] std::int64_t of(GroupKind kind) const {
    return of_kind[static_cast<std::size_t>(kind)];
  }
  template <class V>
  void fields(V& v) {
    v(1, "tp", of_kind[0]);
    v(2, "cp", of_kind[1]);
    v(3, "ep", of_kind[2]);
    v(4, "dp", of_kind[3]);
    v(5, "pp", of_kind[4]);
  }
};
constexpr std::int64_t kWhole = 1'000'000;

// `affinity`: alpha, the weight of DP against PP, 0 to 1 (--affinity); nullopt: from the traffic,
// or the paper's defaults. `parallel` need not be resolved.
Weights weights_for(const Parallel& parallel, const Traffic& traffic,
                    std::optional<double> affinity);

// Restricts weights to `kinds`, in the same proportion; if all their weights were 0, they become
// equal. `kinds` should be those with groups across nodes: weights of other kinds would only make
// all costs smaller.
Weights only(const Weights& weights, std::span<const GroupKind> kinds);

}  // namespace robustrun::topo
