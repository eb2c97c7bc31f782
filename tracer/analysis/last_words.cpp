#include "tracer/analysis/last_words.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "tracer/analysis/sentence.h"

namespace robustrun::tracer {
namespace {

struct Sizes {
  std::uint64_t came = 0;      // bytes that arrived
  std::uint64_t expected = 0;  // bytes that there was room for
};

// Removes a number from the front of `text`.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return number;
}

std::optional<Sizes> sizes_in(std::string_view words) {
  constexpr std::string_view kGloo = "op.preamble.length <= op.nbytes. ";
  constexpr std::string_view kVersus = " vs ";
  const auto at = words.find(kGloo);
  if (at == std::string_view::npos) return std::nullopt;
  words.remove_prefix(at + kGloo.size());
  const auto came = take_number(words);
  if (!came || !words.starts_with(kVersus)) return std::nullopt;
  words.remove_prefix(kVersus.size());
  const auto expected = take_number(words);
  if (!expected || *came <= *expected) return std::nullopt;
  return Sizes{*came, *expected};
}

std::string place_text(const RankSnapshot& rank) {
  return fmt::format("rank {} ({}, local {})", rank.rank.value, rank.node, rank.local_rank.value);
}

}  // namespace

std::optional<Verdict> mismatch_in_words(const std::vector<RankSnapshot>& ranks, base::Rank dead,
                                         std::string_view words) {
  if (ranks.size() != 2) return std::nullopt;
  const auto sizes = sizes_in(words);
  if (!sizes) return std::nullopt;
  const RankSnapshot* receiver = &ranks[0];
  const RankSnapshot* sender = &ranks[1];
  if (sender->rank == dead) std::swap(receiver, sender);
  if (receiver->rank != dead) return std::nullopt;
  Verdict verdict;
  verdict.finding = Finding::kMismatch;
  verdict.confidence = Confidence::kInferred;
  verdict.sentence = fmt::format(
      "ranks {} disagree about a collective: {} calls one that sends {}, {} calls one that "
      "receives {}",
      list_text({ranks[0].rank.value, ranks[1].rank.value}), place_text(*sender),
      amount_text(sizes->came), place_text(*receiver), amount_text(sizes->expected));
  verdict.evidence = {fmt::format("gloo on rank {}: {} bytes arrived, with room for {}", dead.value,
                                  sizes->came, sizes->expected)};
  return verdict;
}

}  // namespace robustrun::tracer
