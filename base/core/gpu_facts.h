#pragma once
// Results of the tests of one machine's GPUs (probe/), as plain data: printed by the probe, sent to
// the supervisor, kept in the journal and compared over all machines by the supervisor's core.
//
// Nothing here is trusted: each machine reports about itself. Figures and sums are comparable only
// between GPUs of the same model and with the same `what`.

#include <cstdint>
#include <string>
#include <vector>

namespace robustrun::base {

// How fast one GPU was in one test; more is better.
struct GpuFigure {
  std::uint32_t gpu = 0;  // index into GpuFacts::models
  std::string what;  // "bf16 GEMM"
  std::string unit;  // "TFLOP/s"
  double value = 0;
  template <class V>
  void fields(V& v) {
    v(1, "gpu", gpu);
    v(2, "what", what);
    v(3, "unit", unit);
    v(4, "value", value);
  }
};

// A hash of what one GPU computed. It must be equal on all GPUs of a model: a GPU that differs is
// faulty.
struct GpuSum {
  std::uint32_t gpu = 0;  // index into GpuFacts::models
  std::string what;  // names everything that the bits depend on: "bf16 GEMM by cuBLAS 130100"
  std::uint64_t sum = 0;
  template <class V>
  void fields(V& v) {
    v(1, "gpu", gpu);
    v(2, "what", what);
    v(3, "sum", sum);
  }
};

struct GpuFacts {
  bool asked = false;  // false: no test was requested
  std::string error{};  // if asked: why there are no results; empty: tests ran
  std::vector<std::string> models{};  // one per GPU
  std::vector<GpuFigure> figures{};
  std::vector<GpuSum> sums{};
  std::vector<std::string> faults{};  // what failed, with its GPU if known
  template <class V>
  void fields(V& v) {
    v(1, "asked", asked);
    v(2, "error", error);
    v(3, "models", models);
    v(4, "figures", figures);
    v(5, "sums", sums);
    v(6, "faults", faults);
  }
};

}  // namespace robustrun::base
