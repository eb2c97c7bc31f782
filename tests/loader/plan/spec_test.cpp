#include "loader/plan/spec.h"

#include <doctest/doctest.h>

#include <functional>

namespace spec_test {

using namespace robustrun;
using namespace robustrun::loader;

Spec valid() {
  Spec spec;
  spec.sources.push_back({"web", Format::kMegatron, {"web"}, 4, {{0, 1'000'000}}});
  spec.sources.push_back({"code", Format::kMegatron, {"code"}, 4, {{10, 0}, {20, 500'000}}});
  spec.batch.context = 1024;
  spec.batch.bins = 48;
  return spec;
}

TEST_CASE("weights are linear between points and constant outside") {
  const Source source = valid().sources[1];
  CHECK(weight_at(source, 0) == 0);
  CHECK(weight_at(source, 10) == 0);
  CHECK(weight_at(source, 15) == 250'000);
  CHECK(weight_at(source, 20) == 500'000);
  CHECK(weight_at(source, 1'000'000) == 500'000);
}

TEST_CASE("each mistake in a specification has its sentence") {
  CHECK(check(valid()));
  const std::vector<std::pair<std::function<void(Spec&)>, std::string>> mistakes{
      {[](Spec& spec) { spec.sources.clear(); }, "there is no [[source]]"},
      {[](Spec& spec) { spec.sources[0].name = "code"; }, "two sources have the name code"},
      {[](Spec& spec) { spec.sources[0].paths.clear(); }, "source web has no paths"},
      {[](Spec& spec) { spec.sources[0].weight.clear(); }, "source web is missing in [mixture]"},
      {[](Spec& spec) { spec.sources[0].weight[0].weight = 0; },
       "the weights in [mixture] sum to 0 at step 0"},
      {[](Spec& spec) { spec.sources[1].weight[1].step = 10; },
       "steps of source code in [mixture] must ascend: 10 after 10"},
      {[](Spec& spec) { spec.batch.context = 0; }, "batch.context must be between 1 and 16777216"},
      {[](Spec& spec) { spec.batch.micro = 0; }, "batch.micro must be at least 1"},
      {[](Spec& spec) { spec.shuffle.block = 0; },
       "shuffle.block and shuffle.window must be at least 1"},
      {[](Spec& spec) { spec.balance.linear = 0; },
       "balance.cost needs an a or b above 0, at most 1000 and 1"},
      {[](Spec& spec) {
         spec.balance.square = 1'000'000'000;
         spec.batch.context = 1 << 24;
         spec.batch.bins = 1 << 20;
       },
       "balance.cost is too large for a step of this size"},
  };
  for (const auto& [make, sentence] : mistakes) {
    Spec spec = valid();
    make(spec);
    const auto checked = check(spec);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().what == sentence);
  }
}

TEST_CASE("ranks that cannot share a step equally are refused with what to choose") {
  Spec spec = valid();
  spec.batch.micro = 4;
  for (const std::uint32_t ranks : {1U, 2U, 3U, 4U, 6U, 12U}) CHECK(check_ranks(spec, ranks));
  const auto checked = check_ranks(spec, 5);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().what ==
        "5 ranks with 4 micro-batches each cannot share the 48 sequences of a step equally; choose "
        "batch.tokens as a multiple of 20 x 1024");
}

}  // namespace spec_test
