#pragma once
// The division of a job's ranks among kinds of parallelism: tensor (tp), context (cp), expert (ep),
// data (dp) and pipeline (pp). Pure.
//
// A rank is a number with one digit per kind. The order of the kinds names the fastest digit first;
// its meaning and its default, tp-cp-ep-dp-pp, are those of Megatron-LM
// (megatron/core/parallel_state.py, RankGenerator). The same ranks have two layouts: the dense
// layout with the digits tp, cp, dp and pp, and the experts' layout with tp, ep, edp and pp, where
// edp = dp * cp / ep. edp has dp's position in the order.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::topo {

enum class GroupKind : std::uint8_t { kTp, kCp, kEp, kDp, kPp };
constexpr std::uint8_t kGroupKinds = 5;
std::string_view to_string(GroupKind kind);  // "tp", ...

// tp-cp-ep-dp-pp
std::vector<GroupKind> default_rank_order();

struct Parallel {
  std::uint32_t tp = 1;
  std::uint32_t cp = 1;
  std::uint32_t ep = 1;
  std::uint32_t dp = 0;  // 0: world size / (tp * cp * pp)
  std::uint32_t pp = 1;
  std::vector<GroupKind> order = default_rank_order();
  template <class V>
  void fields(V& v) {
    v(1, "tp", tp);
    v(2, "cp", cp);
    v(3, "ep", ep);
    v(4, "dp", dp);
    v(5, "pp", pp);
    v(6, "order", order);
  }
  bool operator==(const Parallel&) const = default;
};

// "tp=8,pp=8,dp=auto": each name at most once, sizes of 1 or more, auto only for dp.
base::Result<Parallel> parse_parallel(std::string_view text);
// "tp-cp-ep-dp-pp", each name at most once. Names that are left out are appended; the caller must
// check that their kinds have size 1.
base::Result<std::vector<GroupKind>> parse_rank_order(std::string_view text);

// Returns `parallel` with dp computed for `world` ranks. Errors: the product is not `world`, or ep
// does not divide dp * cp.
base::Result<Parallel> resolve(const Parallel& parallel, std::uint32_t world);

// tp * cp * pp, of which the number of ranks must be a multiple.
std::uint32_t least_world(const Parallel& parallel);

}  // namespace robustrun::topo
