// The probe's own logic on a fake machine: which GPUs are measured, what is verified, and how each
// kind of failure is reported. Says nothing about real GPUs.
#include <doctest/doctest.h>

#include <algorithm>

#include "probe/gpu/session.h"
#include "tests/played_cuda/played.h"

namespace robustrun::probe::gpu_test {
namespace {

using test::GpuFault;
using test::PlayedMachine;
using Faults = std::vector<std::string>;

constexpr Sizes kSmall{.copy = 4096, .exchange = 5040, .gemm = 16, .repeat = 8};

base::GpuFacts run(base::Status (*what)(Session&), const PlayedMachine& machine) {
  test::play(machine);
  const test::PlayedClock clock;
  base::GpuFacts facts;
  Session session(clock, facts, kSmall);
  base::Status done = session.open();
  if (done) done = what(session);
  if (!done) facts.error = done.error().what;
  return facts;
}

// The figures of `what`, by GPU; 0 if missing.
std::vector<double> figures(const base::GpuFacts& facts, const std::string& what) {
  std::vector<double> values(facts.models.size());
  for (const base::GpuFigure& figure : facts.figures) {
    if (figure.what == what) values[figure.gpu] = figure.value;
  }
  return values;
}

bool close_to(const std::vector<double>& values, double each) {
  return std::ranges::all_of(
      values, [each](double value) { return value == doctest::Approx(each).epsilon(0.02); });
}

TEST_CASE("every GPU gets a figure from its time per launch") {
  const base::GpuFacts copied = run(copy, {});
  CHECK(copied.faults.empty());
  CHECK(copied.models == std::vector<std::string>(4, "NVIDIA Played"));
  CHECK(close_to(figures(copied, "memory copy"), 2 * 4096 / 1e9 / 1e-3));
  const base::GpuFacts multiplied = run(gemm, {});
  for (const char* const what : {"bf16 GEMM", "fp16 GEMM", "tf32 GEMM", "fp32 GEMM"}) {
    CAPTURE(what);
    CHECK(close_to(figures(multiplied, what), 2.0 * 16 * 16 * 16 / 1e12 / 1e-3));
  }
}

TEST_CASE("only a slow GPU's own figure is low") {
  const auto values = figures(run(copy, {.faults = {{2, GpuFault::kSlow}}}), "memory copy");
  CHECK(values[2] == doctest::Approx(values[0] / 2).epsilon(0.02));
  CHECK(values[3] == doctest::Approx(values[0]).epsilon(0.02));
}

TEST_CASE("types that some GPUs lack are left out") {
  const base::GpuFacts facts = run(gemm, {.major = 7});
  CHECK(facts.figures.size() == 8);
  CHECK(figures(facts, "bf16 GEMM")[0] == 0);
  CHECK(figures(facts, "fp16 GEMM")[0] > 0);
  CHECK(run(repeat, {.major = 7}).sums.size() == 4);
}

TEST_CASE("a GPU that fails is named with its step, and the others go on") {
  struct Row {
    GpuFault fault;
    const char* words;
  };
  for (const auto& [fault, words] :
       {Row{GpuFault::kLost, "GPU 1 (starting GPU 1): cannot select it"},
        Row{GpuFault::kNoMemory, "GPU 1 (taking 0 MiB of each GPU's memory): cannot take memory"},
        Row{GpuFault::kBroken, "GPU 1 (memory copy on 4 GPUs): cannot finish its work"},
        Row{GpuFault::kHangs,
            "GPU 1 (memory copy on 4 GPUs): it did not finish its work within 20 s"}}) {
    CAPTURE(words);
    const base::GpuFacts facts = run(copy, {.faults = {{1, fault}}});
    CHECK(facts.error.empty());
    REQUIRE(facts.faults.size() == 1);
    CAPTURE(facts.faults[0]);
    CHECK(facts.faults[0].find(words) != std::string::npos);
    CHECK(facts.figures.size() == 3);
    CHECK(figures(facts, "memory copy")[1] == 0);
  }
}

TEST_CASE("a machine without a working GPU gives only faults") {
  const PlayedMachine broken{.gpus = 1, .faults = {{0, GpuFault::kBroken}}};
  for (const auto what : {copy, gemm, repeat, all_to_all, neighbours}) {
    const base::GpuFacts facts = run(what, broken);
    CHECK(facts.error.empty());
    CHECK(facts.figures.empty());
  }
  CHECK(run(gemm, broken).faults.size() == 1);
}

TEST_CASE("a missing driver is reported") {
  CHECK(run(copy, {.driver = false}).error.find("no NVIDIA driver") != std::string::npos);
}

TEST_CASE("products that always have the same bits have one sum") {
  const base::GpuFacts facts = run(repeat, {});
  CHECK(facts.faults.empty());
  REQUIRE(facts.sums.size() == 8);
  for (const base::GpuSum& sum : facts.sums) CHECK(sum.sum == facts.sums[0].sum);
  CHECK(facts.sums[0].what == "bf16 GEMM by cuBLAS 130100");
}

TEST_CASE("one product of thousands with a wrong bit, or NaN, is found") {
  for (const GpuFault fault : {GpuFault::kFlipsOnce, GpuFault::kNotANumber}) {
    const base::GpuFacts facts = run(repeat, {.faults = {{3, fault}}});
    REQUIRE(facts.faults.size() == 1);
    CHECK(facts.faults[0].starts_with("GPU 3 (bf16 GEMM repeated): 1 of "));
    CHECK(facts.faults[0].ends_with("repetitions of one bf16 GEMM gave other bits"));
  }
}

TEST_CASE("a GPU whose products are all different has another sum") {
  const base::GpuFacts facts = run(repeat, {.faults = {{2, GpuFault::kOtherBits}}});
  CHECK(facts.faults.empty());
  for (const base::GpuSum& sum : facts.sums) {
    CHECK((sum.sum == facts.sums[0].sum) == (sum.gpu != 2));
  }
}

TEST_CASE("everything arrives as it was sent, with any number of GPUs") {
  for (const int gpus : {1, 2, 3, 5, 8}) {
    CAPTURE(gpus);
    for (const auto what : {all_to_all, neighbours}) {
      const base::GpuFacts facts = run(what, {.gpus = gpus});
      CHECK(facts.error.empty());
      CHECK(facts.faults.empty());
      const auto links = static_cast<std::size_t>(what == all_to_all ? gpus : gpus - 1);
      CHECK(facts.figures.size() == (gpus == 1 ? 0 : links));
    }
  }
}

TEST_CASE("corrupted words are reported with sender and receiver") {
  const PlayedMachine machine{.gpus = 3, .faults = {{2, GpuFault::kLosesWords}}};
  CHECK(run(all_to_all, machine).faults ==
        Faults{"GPU 2 (verifying what came): 2 of 420 words that GPU 0 sent came wrong"});
  CHECK(run(neighbours, machine).faults ==
        Faults{"GPU 2 (all-gather of neighbours on 3 GPUs): 2 of 1260 words that GPU 1 sent came "
               "wrong"});
}

TEST_CASE("neighbours are those whose numbers follow each other, also when one has failed") {
  const base::GpuFacts facts = run(neighbours, {.gpus = 5, .faults = {{2, GpuFault::kNoMemory}}});
  CHECK(facts.faults.size() == 1);
  REQUIRE(facts.figures.size() == 2);
  CHECK(facts.figures[0].what == "all-gather of GPUs 0 and 1");
  CHECK(facts.figures[1].what == "all-gather of GPUs 3 and 4");
}

TEST_CASE("NCCL's message becomes the error") {
  for (const auto what : {all_to_all, neighbours}) {
    CHECK(run(what, {.nccl = false}).error ==
          "cannot join the GPUs: unhandled system error (played)");
  }
}

}  // namespace
}  // namespace robustrun::probe::gpu_test
