#include "topo/network/traffic.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <numeric>

namespace robustrun::topo::traffic_test {
namespace {

Parallel sizes(std::string_view text) { return parse_parallel(text).value(); }

std::string error_of_model(std::string_view text) { return parse_model(text).error().what; }
std::string error_of_traffic(std::string_view text) { return parse_traffic(text).error().what; }

std::int64_t sum(const Weights& weights) {
  return std::accumulate(weights.of_kind.begin(), weights.of_kind.end(), std::int64_t{0});
}

TEST_CASE("a model is read from its text, in any order") {
  const auto model = parse_model(
      "seq=2048,vocab=50257, hidden=4096,layers=32,micro-batch=2,global-batch=512,dtype=fp32");
  REQUIRE(model);
  CHECK(model->vocab == 50257);
  CHECK(model->sequence == 2048);
  CHECK(model->hidden == 4096);
  CHECK(model->layers == 32);
  CHECK(model->micro_batch == 2);
  CHECK(model->global_batch == 512);
  CHECK(model->dtype_bytes == 4);
  const auto defaults = parse_model("vocab=1,seq=1,hidden=1,layers=1,global-batch=1");
  REQUIRE(defaults);
  CHECK(defaults->micro_batch == 1);
  CHECK(defaults->dtype_bytes == 2);
}

TEST_CASE("an invalid model is refused, with the part that is wrong") {
  CHECK(error_of_model("vocab=1,seq=1,hidden=1,layers=1") ==
        "cannot use 'vocab=1,seq=1,hidden=1,layers=1': global-batch is missing");
  CHECK(error_of_model("width=3") ==
        "cannot use 'width=3': a model consists of vocab, seq, hidden, layers, micro-batch, "
        "global-batch and dtype, each as NAME=VALUE");
  CHECK(error_of_model("hidden").starts_with("cannot use 'hidden': a model consists of"));
  CHECK(error_of_model("hidden=0") == "cannot use 'hidden=0': expected a number above 0");
  CHECK(error_of_model("hidden=-4") == "cannot use 'hidden=-4': expected a number above 0");
  CHECK(error_of_model("hidden=99999999999999999999").ends_with("expected a number above 0"));
  CHECK(error_of_model("seq=1,seq=2") == "cannot use 'seq=1,seq=2': seq is given twice");
  CHECK(error_of_model("dtype=fp12") ==
        "cannot use 'dtype=fp12': the types are fp32, bf16, fp16 "
        "and fp8");
}

TEST_CASE("volumes have units") {
  const auto traffic = parse_traffic("dp=2GB, pp=30MB,ep=1.5GiB,tp=500");
  REQUIRE(traffic);
  CHECK(traffic->of(GroupKind::kDp) == 2e9);
  CHECK(traffic->of(GroupKind::kPp) == 3e7);
  CHECK(traffic->of(GroupKind::kEp) == 1.5 * (1 << 30));
  CHECK(traffic->of(GroupKind::kTp) == 500);
  CHECK(traffic->of(GroupKind::kCp) == 0);
  CHECK(traffic->known());
  CHECK_FALSE(Traffic{}.known());
  CHECK_FALSE(parse_traffic("dp=0").value().known());
}

TEST_CASE("an invalid volume is refused") {
  constexpr const char* kVolume = "a volume is a number of bytes: 500, 30MB, 1.5GB, 2GiB";
  CHECK(error_of_traffic("dp=2GX") == std::string("cannot use 'dp=2GX': ") + kVolume);
  CHECK(error_of_traffic("dp=") == std::string("cannot use 'dp=': ") + kVolume);
  CHECK(error_of_traffic("dp=-1GB") == std::string("cannot use 'dp=-1GB': ") + kVolume);
  CHECK(error_of_traffic("dp=inf") == std::string("cannot use 'dp=inf': ") + kVolume);
  CHECK(error_of_traffic("dp=1e300GB") == std::string("cannot use 'dp=1e300GB': ") + kVolume);
  CHECK(error_of_traffic("xp=1").starts_with("cannot use 'xp=1': a volume is KIND=BYTES"));
  CHECK(error_of_traffic("").starts_with("cannot use '': a volume is KIND=BYTES"));
  CHECK(error_of_traffic("dp=1,dp=2") == "cannot use 'dp=1,dp=2': dp is given twice");
}

TEST_CASE("a 7B model's volumes are those of the paper: some 2 GB of gradients, 30 MB a batch") {
  const auto model =
      parse_model("vocab=50257,seq=2048,hidden=4096,layers=32,global-batch=64").value();
  const auto traffic = traffic_of(model, sizes("pp=8,dp=64")).value();
  const double gradients = traffic.of(GroupKind::kDp) / (2.0 * 63 / 64);
  CHECK(gradients == doctest::Approx(2.04e9).epsilon(0.01));
  CHECK(traffic.of(GroupKind::kPp) == doctest::Approx(2 * 2048 * 4096 * 2.0));
  // One micro-batch above, four here.
  const auto fewer = traffic_of(model, sizes("pp=8,dp=16")).value();
  CHECK(fewer.of(GroupKind::kPp) == doctest::Approx(4 * traffic.of(GroupKind::kPp)));
  // tp divides what a rank holds, cp its tokens.
  const auto split = traffic_of(model, sizes("tp=4,cp=2,pp=8,dp=64")).value();
  CHECK(split.of(GroupKind::kPp) == doctest::Approx(traffic.of(GroupKind::kPp) / 8));
  CHECK(split.of(GroupKind::kDp) == doctest::Approx(gradients / 4 * 2.0 * 127 / 128));
}

TEST_CASE("without another stage or replica nothing is sent") {
  const auto model = parse_model("vocab=10,seq=8,hidden=4,layers=2,global-batch=8").value();
  CHECK(traffic_of(model, sizes("dp=8")).value().of(GroupKind::kPp) == 0);
  CHECK(traffic_of(model, sizes("dp=1,pp=2")).value().of(GroupKind::kDp) == 0);
}

TEST_CASE("a batch that cannot be divided is an error with its numbers") {
  const auto model =
      parse_model("vocab=1,seq=1,hidden=1,layers=1,micro-batch=3,global-batch=64").value();
  CHECK(traffic_of(model, sizes("dp=4")).error().what ==
        "cannot divide a global batch of 64 into micro-batches of 3 on dp=4: 64 is no multiple of "
        "12");
}

TEST_CASE("without traffic the weights are the paper's") {
  const Weights dense = weights_for(sizes("pp=8,dp=46"), {}, std::nullopt);
  CHECK(dense.of(GroupKind::kDp) == 0);
  CHECK(dense.of(GroupKind::kPp) == kWhole);
  const Weights experts = weights_for(sizes("ep=8,pp=8,dp=64"), {}, std::nullopt);
  CHECK(std::llabs(experts.of(GroupKind::kDp) * 7 - experts.of(GroupKind::kPp) * 3) < 20);
  CHECK(experts.of(GroupKind::kEp) > experts.of(GroupKind::kPp));
  CHECK(sum(experts) == kWhole);
}

TEST_CASE("--affinity is alpha, where there are both kinds") {
  const Weights both = weights_for(sizes("pp=8,dp=46"), {}, 0.25);
  CHECK(both.of(GroupKind::kDp) == 250'000);
  CHECK(both.of(GroupKind::kPp) == 750'000);
  CHECK(weights_for(sizes("dp=auto"), {}, 0.25).of(GroupKind::kDp) == kWhole);
  CHECK(weights_for(sizes("pp=4,dp=1"), {}, 0.25).of(GroupKind::kPp) == kWhole);
  // cp is reduced over as dp is.
  CHECK(weights_for(sizes("pp=4,dp=1,cp=2"), {}, 0.25).of(GroupKind::kDp) > 0);
}

TEST_CASE("alpha follows the volumes, and is never above a half") {
  const auto some = parse_traffic("dp=1GB,pp=1GB").value();
  const Weights weights = weights_for(sizes("pp=8,dp=46"), some, std::nullopt);
  CHECK(weights.of(GroupKind::kDp) == std::llround(0.17 / 0.87 * 1e6));
  CHECK(sum(weights) == kWhole);
  const auto much = parse_traffic("dp=100GB,pp=1MB").value();
  CHECK(weights_for(sizes("pp=8,dp=46"), much, std::nullopt).of(GroupKind::kDp) == 500'000);
  // A single volume does not give a proportion.
  const auto one = parse_traffic("dp=100GB").value();
  CHECK(weights_for(sizes("pp=8,dp=46"), one, std::nullopt).of(GroupKind::kDp) == 0);
}

TEST_CASE("a kind that the job lacks counts nothing, and tensors are the heaviest") {
  const Weights weights = weights_for(sizes("tp=16,cp=2,pp=8,dp=4"), {}, 0.3);
  CHECK(weights.of(GroupKind::kEp) == 0);
  CHECK(weights.of(GroupKind::kTp) > weights.of(GroupKind::kCp));
  CHECK(weights.of(GroupKind::kCp) > weights.of(GroupKind::kDp) + weights.of(GroupKind::kPp));
  CHECK(sum(weights) == kWhole);
  // Known volumes count as they are.
  const auto light = parse_traffic("tp=1MB,dp=1GB,pp=1GB").value();
  const Weights known = weights_for(sizes("tp=16,pp=8,dp=4"), light, 0.3);
  CHECK(known.of(GroupKind::kTp) < known.of(GroupKind::kDp));
  CHECK(sum(known) == kWhole);
}

TEST_CASE("a job of one rank weighs nothing") {
  CHECK(weights_for(sizes("dp=1"), {}, std::nullopt).of_kind[3] == 0);
}

TEST_CASE("kinds that stay within a node are left out, the others keep their proportion") {
  const Weights all = weights_for(sizes("tp=8,pp=8,dp=46"), {}, 0.3);
  const std::array kinds = {GroupKind::kDp, GroupKind::kPp};
  const Weights two = only(all, kinds);
  CHECK(two.of(GroupKind::kTp) == 0);
  CHECK(two.of(GroupKind::kDp) == doctest::Approx(300'000).epsilon(0.0001));
  CHECK(sum(two) == kWhole);
  // Only DP spans nodes, and had no weight.
  const std::array dp = {GroupKind::kDp};
  CHECK(only(weights_for(sizes("pp=2,dp=8"), {}, std::nullopt), dp).of(GroupKind::kDp) == kWhole);
  CHECK(sum(only(all, {})) == 0);
}

}  // namespace
}  // namespace robustrun::topo::traffic_test
