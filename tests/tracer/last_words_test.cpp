#include "tracer/analysis/last_words.h"

#include <doctest/doctest.h>

namespace robustrun::tracer::last_words_test {
namespace {

// The message of torch 2.13 (gloo, transport/tcp/pair.cc).
constexpr const char* kGlooWords =
    "terminate called after throwing an instance of 'gloo::EnforceNotMet'\n"
    "  what():  [enforce fail at /pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:456] "
    "op.preamble.length <= op.nbytes. 128 vs 64. Received data size doesn't match expected size. "
    "Is there a distributed collective mismatch in your code?\n";

std::vector<RankSnapshot> job_of(std::uint32_t count) {
  std::vector<RankSnapshot> ranks(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    ranks[i].rank = {i};
    ranks[i].local_rank = {i};
    ranks[i].node = "n1";
  }
  return ranks;
}

TEST_CASE("of two ranks both sides are named, without a culprit") {
  for (const std::uint32_t dead : {0U, 1U}) {
    const auto verdict = mismatch_in_words(job_of(2), {dead}, kGlooWords);
    REQUIRE(verdict);
    CHECK(verdict->finding == Finding::kMismatch);
    CHECK(verdict->culprits.empty());
    const char* const sentence =
        dead == 0
            ? "ranks 0 and 1 disagree about a collective: rank 1 (n1, local 1) calls one that "
              "sends 128 B, rank 0 (n1, local 0) calls one that receives 64 B"
            : "ranks 0 and 1 disagree about a collective: rank 0 (n1, local 0) calls one that "
              "sends 128 B, rank 1 (n1, local 1) calls one that receives 64 B";
    CHECK(verdict->sentence == sentence);
  }
}

TEST_CASE("other messages, more ranks, or another rank give no verdict") {
  CHECK_FALSE(mismatch_in_words(job_of(3), {0}, kGlooWords));
  CHECK_FALSE(mismatch_in_words(job_of(1), {0}, kGlooWords));
  CHECK_FALSE(mismatch_in_words(job_of(2), {7}, kGlooWords));
  for (const char* const words :
       {"", "Connection reset by peer", "op.preamble.length <= op.nbytes. ",
        "op.preamble.length <= op.nbytes. 128", "op.preamble.length <= op.nbytes. 128 vs ",
        "op.preamble.length <= op.nbytes. 64 vs 128", "op.preamble.length <= op.nbytes. -1 vs 0",
        "op.preamble.length <= op.nbytes. 99999999999999999999999 vs 1"}) {
    CAPTURE(words);
    CHECK_FALSE(mismatch_in_words(job_of(2), {0}, words));
  }
}

}  // namespace
}  // namespace robustrun::tracer::last_words_test
