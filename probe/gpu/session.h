#pragma once
// Runs one test on all GPUs of this machine: holds the GPUs that take part, and the result.
//
// A GPU that fails is named in the result and excluded; the test continues on the other GPUs.
// Nothing is freed after the test, because on a broken GPU the call may never return. One thread;
// blocks. Uses only CUDA's runtime API; cuBLAS and NCCL are used in one file each.

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

// CUDA's result as a Status. An error becomes kUnavailable, with "cannot WHAT: " and CUDA's words.
[[nodiscard]] base::Status succeed(cudaError_t error, const char* what);

struct Gpu {
  int index = 0;
  int major = 0;  // major number of its compute capability
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  bool failed = false;
};

// The sizes of the tests' data; other values are for tests of the probe.
struct Sizes {
  std::size_t copy = kCopyBytes;
  std::size_t exchange = kExchangeBytes;  // bytes that each GPU sends
  int gemm = kGemmSize, repeat = kRepeatSize;  // rows and columns of matrices
};

class Session {
 public:
  Session(const base::Clock& clock, base::GpuFacts& facts, const Sizes& sizes = {})
      : clock_(clock), facts_(facts), sizes_(sizes) {}
  // Finds the GPUs and starts each. kUnavailable: CUDA cannot count the GPUs, or there are none.
  base::Status open();

  [[nodiscard]] std::size_t size() const { return gpus_.size(); }
  // The GPUs that have not failed.
  [[nodiscard]] std::vector<Gpu*> working();
  // Whether the major compute capability of every GPU, failed ones included, is at least `major`.
  [[nodiscard]] bool all_have(int major) const;

  // Call before work that may take long: prints `what` on stderr. Texts of failures contain the
  // `what` of the last call.
  void step(const std::string& what);
  // Runs `work` on each working GPU, with that GPU selected. If `work` fails, the GPU is excluded.
  using Work = std::function<base::Status(Gpu&)>;
  void each(const Work& work);
  // Like each(), on one GPU.
  void on(Gpu& gpu, const Work& work);
  // Excludes the GPU, and adds `why` to the faults of facts().
  void fail(Gpu& gpu, const std::string& why);
  // Allocates `bytes` of memory on each working GPU. The result is by GPU index; null: the GPU has
  // failed.
  [[nodiscard]] std::vector<void*> allocate(std::size_t bytes);
  // Waits at most kWaitMax until all streams have finished. A GPU that has not finished by then is
  // excluded.
  void finish();

  // Calls `launch`, which starts work on the streams of all GPUs, repeatedly for kMeasureTime.
  // Returns the seconds per launch, by GPU index; 0: the GPU has failed. The first launch is not
  // counted. Errors are those of `launch`.
  using Launch = std::function<base::Status()>;
  base::Result<std::vector<double>> time(const std::string& what, const Launch& launch);
  // Like time(), but records a figure in `unit` for each GPU: `amount` divided by the seconds per
  // launch. For "GB/s", `amount` is the number of GB of one launch.
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

// The tests (probe/tests.h). An error concerns the whole test (GpuFacts::error). A failure of one
// GPU is no error; it is recorded in facts().
base::Status copy(Session& session);
base::Status gemm(Session& session);
base::Status repeat(Session& session);
base::Status all_to_all(Session& session);
base::Status neighbours(Session& session);

}  // namespace robustrun::probe
