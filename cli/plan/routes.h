#pragma once
// Where each worker's streams go: --redirects, --tee and --local-ranks-filter (docs/compat.md).
// Pure.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "supervisor/run_request.h"

namespace robustrun::cli {

// Bit 0: stdout, bit 1: stderr; one value for all local ranks, or one per rank.
struct StreamChoice {
  unsigned all = 0;
  std::map<std::uint32_t, unsigned> by_rank;
  [[nodiscard]] unsigned of(std::uint32_t local_rank) const;
  [[nodiscard]] bool any() const;
};

// "0" to "3", or "0:1,12:3"; the error has torchrun's words and shows both forms.
[[nodiscard]] base::Result<StreamChoice> parse_stream_choice(std::string_view text);

// "0,1,2"; nullopt for an empty text: every rank is shown.
[[nodiscard]] base::Result<std::optional<std::set<std::uint32_t>>> parse_ranks(
    std::string_view text);

struct RouteWishes {
  StreamChoice redirects;
  StreamChoice tee;
  std::optional<std::set<std::uint32_t>> shown;
  bool compat = false;
  bool files = true;  // false: --log-dir=/dev/null
};

// Native: each stream goes to a file and to the console; --redirects without --tee takes it off
// the console.
// Compat: the worker inherits our descriptor unless --redirects or --tee names the stream.
[[nodiscard]] std::vector<supervisor::StreamRoutes> plan_routes(const RouteWishes& wishes,
                                                                std::uint32_t workers);

}  // namespace robustrun::cli
