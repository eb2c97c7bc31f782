// GPUs compared: slow ones, ones that compute other bits, and ones that must not be named.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "supervisor/core/types/limits.h"
#include "tests/supervisor/preflight_facts.h"

namespace robustrun::supervisor::test::preflight_gpus_test {
namespace {

constexpr const char* kWhat = "bf16 GEMM";

// Nodes of some GPUs each, with these figures and sums one GPU after the other.
struct Fleet {
  explicit Fleet(const std::vector<double>& values, std::uint32_t per_node = 4,
                 const std::vector<std::uint64_t>& sums = {}) {
    checked = all_healthy((static_cast<std::uint32_t>(values.size()) + per_node - 1) / per_node);
    for (std::uint32_t i = 0; i < values.size(); ++i) {
      base::GpuFacts& probe = checked.nodes[i / per_node].facts.probe;
      probe.asked = true;
      probe.models.emplace_back("NVIDIA H200");
      probe.figures.push_back({i % per_node, kWhat, "TFLOP/s", values[i]});
      probe.sums.push_back({i % per_node, kWhat, i < sums.size() ? sums[i] : 7});
    }
  }
  base::GpuFacts& probe(std::uint32_t node) { return checked.nodes[node].facts.probe; }

  // "h1 slow: its GPU 2", "h0 unfit: …", a line for each finding.
  [[nodiscard]] std::string findings() const {
    std::string text;
    const auto verdicts = verdicts_of(checked);
    for (std::size_t node = 0; node < verdicts.size(); ++node) {
      for (const Finding& finding : verdicts[node].findings) {
        const char* const level = finding.level == Fitness::kUnfit  ? "unfit"
                                  : finding.level == Fitness::kSlow ? "slow"
                                                                    : "warned";
        text += fmt::format("h{} {}: {}\n", node, level, finding.words);
      }
    }
    return text;
  }

  NodesChecked checked;
};

std::string slow(std::uint32_t node, std::uint32_t gpu) {
  return fmt::format("h{} slow: its GPU {} (NVIDIA H200) is slow: ", node, gpu);
}

TEST_CASE("a GPU far below the others is named with its numbers, and makes its node slow") {
  const Fleet fleet({780, 782, 778, 781, 779, 780, 512.5, 783});
  CHECK(fleet.findings() == slow(1, 2) +
                                "bf16 GEMM 512.5 TFLOP/s, the median of 8 is 780 "
                                "TFLOP/s\n");
  const NodeVerdict verdict = verdicts_of(fleet.checked)[1];
  CHECK(verdict.level == Fitness::kSlow);
  CHECK(verdict.slowness == doctest::Approx(780 / 512.5));
}

TEST_CASE("GPUs that must not be named") {
  struct Row {
    const char* name;
    std::vector<double> values;
  };
  for (const Row& row : {
           Row{"all alike", {780, 780, 780, 780, 780, 780, 780, 780}},
           Row{"one alone", {780}},
           Row{"one of two, which may be either", {780, 400}},
           Row{"just within 5 %, though all others are alike", {100, 100, 100, 100, 95}},
           Row{"within 5 deviations of a wide field", {100, 90, 110, 80, 120, 60}},
           Row{"faster than all", {100, 100, 100, 100, 200}},
           Row{"half of all", {100, 100, 50, 50}},
       }) {
    CAPTURE(row.name);
    CHECK(Fleet(row.values).findings().empty());
  }
}

TEST_CASE("both limits must be passed") {
  CHECK(Fleet({100, 100, 100, 100, 94.9}).findings().starts_with(slow(1, 0)));
  // The median is 92.5, the deviation 5: 25 below it is too far.
  CHECK(Fleet({100, 90, 100, 90, 95, 100, 90, 100, 90, 68}).findings().empty());
  CHECK(Fleet({100, 90, 100, 90, 95, 100, 90, 100, 90, 67}).findings().starts_with(slow(2, 1)));
}

TEST_CASE("several bad ones are all named, as long as they are few") {
  const std::string found = Fleet({100, 101, 99, 50, 100, 60, 101, 99}).findings();
  CHECK(found.find(slow(0, 3)) != std::string::npos);
  CHECK(found.find(slow(1, 1)) != std::string::npos);
  CHECK(std::ranges::count(found, '\n') == 2);
}

TEST_CASE("GPUs are compared with their like alone") {
  Fleet fleet({100, 100, 100, 100, 40, 40, 40, 40});
  fleet.probe(1).models.assign(4, "NVIDIA L4");
  CHECK(fleet.findings().empty());
  Fleet other({100, 100, 100, 100, 100, 40});
  other.probe(1).figures[1].what = "fp32 GEMM";
  CHECK(other.findings().empty());
  Fleet unit({100, 100, 100, 100, 100, 40});
  unit.probe(1).figures[1].unit = "GB/s";
  CHECK(unit.findings().empty());
}

TEST_CASE("the order of nodes does not matter") {
  Fleet fleet({780, 782, 778, 781, 779, 780, 512, 783, 780, 781});
  Fleet turned = fleet;
  std::swap(turned.checked.nodes[0].facts, turned.checked.nodes[1].facts);
  CHECK(fleet.findings().starts_with(slow(1, 2)));
  CHECK(turned.findings().starts_with(slow(0, 2)));
}

TEST_CASE("a GPU that computes other bits than most is unfit") {
  const std::string found = Fleet({1, 1, 1, 1, 1}, 4, {7, 7, 9, 7, 7}).findings();
  CHECK(found ==
        "h0 unfit: its GPU 2 (NVIDIA H200) computes other bits than 4 of 5: bf16 GEMM "
        "(silent data corruption)\n");
}

TEST_CASE("where no bits are in the majority, all are warned of and none is blamed") {
  const std::string found = Fleet({1, 1}, 1, {7, 9}).findings();
  CHECK(found.find("unfit") == std::string::npos);
  CHECK(std::ranges::count(found, '\n') == 2);
  Fleet models({1, 1}, 1, {7, 9});
  models.probe(1).models[0] = "NVIDIA L4";
  CHECK(models.findings().empty());
  Fleet versions({1, 1}, 1, {7, 9});
  versions.probe(1).sums[0].what = "bf16 GEMM by cuBLAS 120000";
  CHECK(versions.findings().empty());
}

TEST_CASE("faults and untested GPUs make a node unfit, whatever its figures") {
  Fleet fleet({100, 100, 100, 100, 100, 100});
  fleet.probe(1).faults = {"gemm: GPU 1: lost", "repeat: GPU 0: other bits"};
  CHECK(fleet.findings() ==
        "h1 unfit: a test of its GPUs failed: gemm: GPU 1: lost\n"
        "h1 unfit: a test of its GPUs failed: repeat: GPU 0: other bits\n");
  fleet.probe(1) = {.asked = true, .error = "no driver"};
  CHECK(fleet.findings() == "h1 unfit: its GPUs cannot be tested: no driver\n");
  fleet.probe(1) = {};  // not asked
  CHECK(fleet.findings().empty());
}

TEST_CASE("nonsense of an agent blames no other node and ends nothing") {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  constexpr double kMax = std::numeric_limits<double>::max();
  Fleet fleet({100, 100, 100, 100, kInfinite, std::nan(""), -1, 0});
  fleet.probe(1).figures.push_back({4'000'000'000U, kWhat, "TFLOP/s", 1});
  fleet.probe(1).sums.push_back({4'000'000'000U, kWhat, 1});
  CHECK(fleet.findings().empty());
  const std::string found = Fleet({kMax, kMax, kMax, kMax, 1}).findings();
  CHECK(found.starts_with(slow(1, 0)));
  Fleet many({100, 100, 100, 100});
  many.probe(0).models[0] = "\x1b[31m\n";
  CHECK(many.findings().empty());
}

}  // namespace
}  // namespace robustrun::supervisor::test::preflight_gpus_test
