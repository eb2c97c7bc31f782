#include "cli/plan/routes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "cli/options/limits.h"
#include "cli/options/values.h"

namespace robustrun::cli {
namespace {

using base::Errc;
using base::fail;
using wire::StreamRoute;

constexpr unsigned kOut = 1;
constexpr unsigned kErr = 2;

std::optional<unsigned> stream_bits(std::string_view text) {
  if (text.size() != 1 || text[0] < '0' || text[0] > '3') return std::nullopt;
  return static_cast<unsigned>(text[0] - '0');
}

std::optional<std::uint32_t> local_rank(std::string_view text) {
  const auto value = parse_integer(text);
  if (!value || *value < 0 || *value >= kWorkersPerNodeMax) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

StreamRoute native_route(bool redirected, bool shown, bool files) {
  const bool console = shown && !redirected;
  if (files) return console ? StreamRoute::kFileAndConsole : StreamRoute::kFile;
  return console ? StreamRoute::kConsole : StreamRoute::kDiscard;
}

StreamRoute compat_route(bool redirected, bool teed, bool shown, bool files) {
  // As in torchrun, both options have no effect without a log directory.
  if (files && teed) return shown ? StreamRoute::kFileAndConsole : StreamRoute::kFile;
  if (files && redirected) return StreamRoute::kFile;
  return shown ? StreamRoute::kInherit : StreamRoute::kDiscard;
}

}  // namespace

unsigned StreamChoice::of(std::uint32_t local_rank) const {
  const auto found = by_rank.find(local_rank);
  return found == by_rank.end() ? all : found->second;
}

bool StreamChoice::any() const {
  return all != 0 || std::ranges::any_of(by_rank, [](const auto& entry) { return entry.second; });
}

base::Result<StreamChoice> parse_stream_choice(std::string_view text) {
  StreamChoice choice;
  if (const auto bits = stream_bits(text)) {
    choice.all = *bits;
    return choice;
  }
  for (const std::string_view piece : base::split(text, ',')) {
    const auto colon = piece.find(':');
    const auto rank = local_rank(piece.substr(0, colon));
    const auto bits =
        colon == std::string::npos ? std::nullopt : stream_bits(piece.substr(colon + 1));
    if (!rank || !bits) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("{} does not match: <^[0123]$> or <^(\\d+:[0123],)*(\\d+:[0123])$>; "
                              "write 3 for both streams of every worker, or 0:1,1:2 for stdout of "
                              "local rank 0 and stderr of local rank 1",
                              text));
    }
    choice.by_rank[*rank] = *bits;
  }
  return choice;
}

base::Result<std::optional<std::set<std::uint32_t>>> parse_ranks(std::string_view text) {
  if (text.empty()) return std::optional<std::set<std::uint32_t>>();
  std::set<std::uint32_t> ranks;
  for (const std::string_view piece : base::split(text, ',')) {
    const auto rank = local_rank(piece);
    if (!rank) {
      return fail(Errc::kInvalidArgument,
                  fmt::format("'{}' is not a local rank; --local_ranks_filter must be a "
                              "comma-separated list of integers e.g. --local_ranks_filter=0,1,2",
                              piece));
    }
    ranks.insert(*rank);
  }
  return std::optional(std::move(ranks));
}

std::vector<supervisor::StreamRoutes> plan_routes(const RouteWishes& wishes,
                                                  std::uint32_t workers) {
  std::vector<supervisor::StreamRoutes> routes(workers);
  for (std::uint32_t rank = 0; rank < workers; ++rank) {
    const unsigned tee = wishes.tee.of(rank);
    const unsigned redirects = wishes.redirects.of(rank);
    const bool shown = !wishes.shown || wishes.shown->contains(rank);
    const auto route = [&](unsigned stream) {
      const bool teed = (tee & stream) != 0;
      const bool redirected = (redirects & stream) != 0;
      if (wishes.compat) return compat_route(redirected, teed, shown, wishes.files);
      return native_route(redirected && !teed, shown, wishes.files);
    };
    routes[rank] = {route(kOut), route(kErr)};
  }
  return routes;
}

}  // namespace robustrun::cli
