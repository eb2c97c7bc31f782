#pragma once
// One test on all GPUs of this machine: who takes part, what came of it.
//
// A GPU that fails is named in the result and takes no further part; the others go on. Nothing is
// freed when the test is over: a broken GPU may never come back from that, and the process ends.
// One thread; blocks. Everything here is CUDA's runtime API; cuBLAS and NCCL are in one file each.

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

// "cannot WHAT: CUDA's words"
[[nodiscard]] base::Status succeed(cudaError_t error, const char* what);

struct Gpu {
  int index = 0;
  int major = 0;                // of its compute capability
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  bool failed = false;
};

struct Sizes {
  std::size_t copy = kCopyBytes;
  std::size_t exchange = kExchangeBytes;  // that each GPU sends
  int gemm = kGemmSize, repeat = kRepeatSize;  // rows and columns
};

class Session {
 public:
  Session(const base::Clock& clock, base::GpuFacts& facts, const Sizes& sizes = {})
      : clock_(clock), facts_(facts), sizes_(sizes) {}
  // Finds the GPUs; without any the session has an error.
  base::Status open();

  [[nodiscard]] std::size_t size() const { return gpus_.size(); }
  // Those that have not failed.
  [[nodiscard]] std::vector<Gpu*> working();
  // All of them have this compute capability.
  [[nodiscard]] bool all_have(int major) const;

  // Said on standard error before what may take long, and of a GPU that fails in it.
  void step(const std::string& what);
  // `work`, with that GPU selected, on each that works; one that it fails on is out.
  using Work = std::function<base::Status(Gpu&)>;
  void each(const Work& work);
  void on(Gpu& gpu, const Work& work);
  void fail(Gpu& gpu, const std::string& why);
  // Device memory of `bytes` on each GPU, by its index; null on one that failed.
  [[nodiscard]] std::vector<void*> allocate(std::size_t bytes);
  // Waits for what is on all GPUs' streams, at most kWaitMax: who is not done by then has failed.
  void finish();

  // Does `launch`, which puts work onto the streams of all GPUs, again and again for kMeasureTime:
  // how many seconds each GPU took for one, by its index, 0 for one that failed. The first launch
  // does not count.
  using Launch = std::function<base::Status()>;
  base::Result<std::vector<double>> time(const std::string& what, const Launch& launch);
  // The same as a figure of each GPU: `amount` in `unit` per launch.
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

// The tests (probe/tests.h). What went wrong with all GPUs at once is the Status.
base::Status copy(Session& session);
base::Status gemm(Session& session);
base::Status repeat(Session& session);
base::Status all_to_all(Session& session);
base::Status neighbours(Session& session);

}  // namespace robustrun::probe
