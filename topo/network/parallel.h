#pragma once
// How a job divides its ranks among kinds of parallelism. Pure.
//
// Ranks are numbers in a mixed radix system, the first name of the order being the fastest digit.
// Default and meaning as in Megatron-LM (megatron/core/parallel_state.py, RankGenerator):
// tp-cp-ep-dp-pp. There are two layouts over the same ranks: the dense one of tp, cp, dp and pp,
// and the experts' one of tp, ep, edp and pp with edp = dp * cp / ep; ep takes its place in the
// order, edp takes that of dp.

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
  std::uint32_t dp = 0;  // 0: what the world leaves over
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

// "tp=8,pp=8,dp=auto": each name at most once, sizes of 1 or more, auto for dp alone.
base::Result<Parallel> parse_parallel(std::string_view text);
// "tp-cp-ep-dp-pp": a permutation; names left out have to have size 1 and come last.
base::Result<std::vector<GroupKind>> parse_rank_order(std::string_view text);

// `parallel` with dp filled in for `world` ranks. Error: the product is not `world`, or ep does not
// divide dp * cp.
base::Result<Parallel> resolve(const Parallel& parallel, std::uint32_t world);

// Ranks that must be a multiple of this: tp * cp * pp.
std::uint32_t least_world(const Parallel& parallel);

}  // namespace robustrun::topo
