#pragma once
// One test on all GPUs of this machine: which GPUs take part, and the result.
//
// A GPU that fails is named in the result and takes no further part; the others go on. Nothing is
// freed after the test: on a broken GPU that call may never return, and the process ends anyway.
// One thread; blocks. This file uses only CUDA's runtime API; cuBLAS and NCCL are in one file each.

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/gpu_facts.h"
#include "base/core/result.h"
#include "probe/limits.h"

namespace robustrun::probe {

// kUnavailable: "cannot WHAT: CUDA's words".
[[nodiscard]] base::Status succeed(cudaError_t error, const char* what);

struct Gpu {
  int index = 0;
  int major = 0;  // of its compute capability
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  bool failed = false;
};

struct Sizes {
  std::size_t copy = kCopyBytes;
  std::size_t exchange = kExchangeBytes;  // bytes that each GPU sends
  int gemm = kGemmSize, repeat = kRepeatSize;  // gemm, repeat: rows and columns
};

class Session {
 public:
  Session(const base::Clock& clock, base::GpuFacts& facts, const Sizes& sizes = {})
      : clock_(clock), facts_(facts), sizes_(sizes) {}
  // Finds the GPUs. kUnavailable: they cannot be counted, or there are none.
  base::Status open();

  [[nodiscard]] std::size_t size() const { return gpus_.size(); }
  // The GPUs that have not failed.
  [[nodiscard]] std::vector<Gpu*> working();
  // Whether the major compute capability of every GPU, failed ones included, is at least `major`.
  [[nodiscard]] bool all_have(int major) const;

  // Prints `what` on stderr, before anything that may take long. Texts of later failures contain
  // it.
  void step(const std::string& what);
  // Runs `work` on each working GPU, with that GPU selected; a GPU that fails it is excluded.
  using Work = std::function<base::Status(Gpu&)>;
  void each(const Work& work);
  // The same on one GPU.
  void on(Gpu& gpu, const Work& work);
  // Excludes the GPU, and adds `why` to the faults of facts().
  void fail(Gpu& gpu, const std::string& why);
  // Device memory of `bytes` on each GPU, by GPU index; null for a GPU that failed.
  [[nodiscard]] std::vector<void*> allocate(std::size_t bytes);
  // Waits at most kWaitMax for all GPUs' streams; a GPU that has not finished by then has failed.
  void finish();

  // Calls `launch`, which puts work onto the streams of all GPUs, repeatedly for kMeasureTime.
  // Returns the seconds per launch of each GPU, by GPU index, 0 for one that failed. The first
  // launch is not counted. Errors are those of `launch`.
  using Launch = std::function<base::Status()>;
  base::Result<std::vector<double>> time(const std::string& what, const Launch& launch);
  // Measures, and records a figure in `unit` for each GPU: `amount` / seconds per launch. For
  // "GB/s", `amount` is the number of GB of one launch.
  base::Status measure(const std::string& what, const char* unit, double amount,
                       const Launch& launch);

  [[nodiscard]] base::GpuFacts& facts() { return facts_; }
  [[nodiscard]] const base::Clock& clock() const { return clock_; }
  [[nodiscard]] const Sizes& sizes() const { return sizes_; }

 private:
  const base::Clock& clock_;
  base::GpuFacts& facts_;
  Sizes sizes_;
  std::vector<Gpu> gpus_;
  std::string step_;
};

// The tests (probe/tests.h). A failure of one GPU is recorded in facts(), and the Status is still
// good. An error of the Status concerns the whole test (GpuFacts::error).
base::Status copy(Session& session);
base::Status gemm(Session& session);
base::Status repeat(Session& session);
base::Status all_to_all(Session& session);
base::Status neighbours(Session& session);

}  // namespace robustrun::probe
