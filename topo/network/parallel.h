#pragma once
// The division of a job's ranks among kinds of parallelism. Pure.
//
// Ranks are numbers in a mixed radix system; the first name of the order is the fastest digit.
// Default and meaning as in Megatron-LM (megatron/core/parallel_state.py, RankGenerator):
// tp-cp-ep-dp-pp. The same ranks have two layouts: the dense one of tp, cp, dp and pp, and that of
// the experts with tp, ep, edp and pp, where edp = dp * cp / ep; ep has its own position in the
// order, edp that of dp.

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
// "tp-cp-ep-dp-pp", each name at most once; those that are left out are appended. The caller must
// check that these have size 1.
base::Result<std::vector<GroupKind>> parse_rank_order(std::string_view text);

// Returns `parallel` with dp computed for `world` ranks. Errors: the product is not `world`, or ep
// does not divide dp * cp.
base::Result<Parallel> resolve(const Parallel& parallel, std::uint32_t world);

// The number of ranks must be a multiple of this: tp * cp * pp.
std::uint32_t least_world(const Parallel& parallel);

}  // namespace robustrun::topo
