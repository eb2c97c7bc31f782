// Matrix multiplications: how fast they are, and whether repetitions give identical bits.
//
// cuBLAS gives the same bits from run to run on GPUs of the same architecture and number of
// multiprocessors, with one version and one stream ("Results Reproducibility" in its
// documentation): other bits are silent data corruption. This needs no kernel of ours: C - C0 is
// cuBLAS's axpy, and the sum of its absolute values is 0 when no bit differs (NaN is not 0).

#include <cublas_v2.h>
#include <fmt/core.h>

#include <array>
#include <span>

#include "base/core/hash.h"
#include "probe/gpu/session.h"
#include "probe/limits.h"

namespace robustrun::probe {
namespace {

struct Kind {
  const char* name;
  cudaDataType_t in, out;
  cublasComputeType_t compute;
  int major;           // first compute capability that has it
  std::size_t bytes;   // of one number
};
constexpr std::array kFast = {
    Kind{"bf16 GEMM", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 8, 2},
    Kind{"fp16 GEMM", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, 7, 2},
    Kind{"tf32 GEMM", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 8, 4},
    Kind{"fp32 GEMM", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 0, 4},
};
constexpr std::array kExact = {
    Kind{"bf16 GEMM", CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 8, 2},
    Kind{"fp32 GEMM", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 0, 4},
};

constexpr std::size_t square(int size) {
  return static_cast<std::size_t>(size) * static_cast<std::size_t>(size);
}

base::Status succeed(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return base::fail(base::Errc::kUnavailable,
                    fmt::format("cannot {}: {}", what, cublasGetStatusString(status)));
}

// 16-bit values that are numbers of moderate size as bf16, as fp16, and in pairs as fp32.
std::vector<std::uint16_t> pattern(std::uint64_t seed) {
  std::vector<std::uint16_t> numbers(std::size_t{8} << 20);
  base::Rng rng(seed);
  for (std::size_t i = 0; i < numbers.size(); i += 4) {
    std::uint64_t bits = rng.next();
    for (std::size_t k = 0; k < 4; ++k, bits >>= 16) {
      numbers[i + k] = static_cast<std::uint16_t>((bits & 0x83FF) | 0x3C00);
    }
  }
  return numbers;
}

// A × B = C in one size on every GPU, with the same A and B everywhere.
class Gemms {
 public:
  Gemms(Session& session, int size)
      : session_(session),
        size_(size),
        a_(session.allocate(square(size) * sizeof(float))),
        b_(session.allocate(square(size) * sizeof(float))),
        handles_(session.size()) {
    fill(a_, 1);
    fill(b_, 2);
    session.each([&](Gpu& gpu) -> base::Status {
      RR_TRY(succeed(cublasCreate(&handles_[place(gpu)]), "start cuBLAS"));
      return succeed(cublasSetStream(handles_[place(gpu)], gpu.stream), "start cuBLAS");
    });
  }

  static std::size_t place(const Gpu& gpu) { return static_cast<std::size_t>(gpu.index); }
  [[nodiscard]] cublasHandle_t handle(const Gpu& gpu) const { return handles_[place(gpu)]; }

  base::Status multiply(const Kind& kind, const Gpu& gpu, void* c) const {
    const float one = 1, zero = 0;
    const void* const a = a_[place(gpu)];
    const void* const b = b_[place(gpu)];
    return succeed(cublasGemmEx(handle(gpu), CUBLAS_OP_N, CUBLAS_OP_N, size_, size_, size_, &one, a,
                                kind.in, size_, b, kind.in, size_, &zero, c, kind.out, size_,
                                kind.compute, CUBLAS_GEMM_DEFAULT),
                   kind.name);
  }

 private:
  void fill(const std::vector<void*>& matrices, std::uint64_t seed) {
    const std::vector<std::uint16_t> numbers = pattern(seed);
    const std::size_t piece = numbers.size() * sizeof(std::uint16_t);
    const std::size_t whole = square(size_) * sizeof(float);
    session_.each([&](Gpu& gpu) -> base::Status {
      for (std::size_t at = 0; at < whole; at += piece) {
        RR_TRY(
            probe::succeed(cudaMemcpy(static_cast<char*>(matrices[place(gpu)]) + at, numbers.data(),
                                      std::min(piece, whole - at), cudaMemcpyHostToDevice),
                           "fill memory"));
      }
      return {};
    });
  }

  Session& session_;
  int size_;
  std::vector<void*> a_, b_;   // by GPU
  std::vector<cublasHandle_t> handles_;
};

// Repeats one kind of multiplication.
class Repetition {
 public:
  Repetition(Session& session, const Gemms& gemms)
      : session_(session),
        gemms_(gemms),
        bytes_(square(session.sizes().repeat) * sizeof(float)),
        first_(session.allocate(bytes_)),
        next_(session.allocate(bytes_)),
        sums_(session.allocate(kLaunchesAtOnce * sizeof(float))) {}

  void run(const Kind& kind) {
    session_.step(fmt::format("{} repeated", kind.name));
    std::vector<std::uint64_t> differing(session_.size());
    std::uint64_t repeats = 0;
    session_.each([&](Gpu& gpu) { return gemms_.multiply(kind, gpu, first_[place(gpu)]); });
    for (const base::Nanos end = session_.clock().now() + kRepeatTime;
         session_.clock().now() < end && !session_.working().empty();) {
      session_.each([&](Gpu& gpu) { return launch(kind, gpu); });
      session_.finish();
      session_.each([&](Gpu& gpu) { return count(gpu, differing[place(gpu)]); });
      repeats += kLaunchesAtOnce;
    }
    session_.each([&](Gpu& gpu) -> base::Status {
      RR_TRY(add_sum(kind, gpu));
      if (differing[place(gpu)] == 0) return {};
      return base::fail(base::Errc::kCorrupt,
                        fmt::format("{} of {} repetitions of one {} gave other bits",
                                    differing[place(gpu)], repeats, kind.name));
    });
  }

 private:
  static std::size_t place(const Gpu& gpu) { return Gemms::place(gpu); }

  base::Status launch(const Kind& kind, const Gpu& gpu) const {
    const int count = session_.sizes().repeat * session_.sizes().repeat;
    const float minus_one = -1;
    const cublasHandle_t handle = gemms_.handle(gpu);
    auto* const next = static_cast<float*>(next_[place(gpu)]);
    for (int i = 0; i < kLaunchesAtOnce; ++i) {
      RR_TRY(gemms_.multiply(kind, gpu, next));
      RR_TRY(succeed(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST), "set a mode"));
      RR_TRY(succeed(cublasSaxpy(handle, count, &minus_one,
                                 static_cast<const float*>(first_[place(gpu)]), 1, next, 1),
                     "subtract"));
      // A result in host memory would make every call wait.
      RR_TRY(succeed(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE), "set a mode"));
      RR_TRY(succeed(
          cublasSasum(handle, count, next, 1, static_cast<float*>(sums_[place(gpu)]) + i), "add"));
      RR_TRY(succeed(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST), "set a mode"));
    }
    return {};
  }

  base::Status count(const Gpu& gpu, std::uint64_t& differing) const {
    std::array<float, kLaunchesAtOnce> sums{};
    RR_TRY(probe::succeed(
        cudaMemcpy(sums.data(), sums_[place(gpu)], sizeof sums, cudaMemcpyDeviceToHost),
        "read its results"));
    for (const float sum : sums) differing += sum == 0 ? 0 : 1;
    return {};
  }

  base::Status add_sum(const Kind& kind, const Gpu& gpu) {
    std::string bytes(bytes_, '\0');
    RR_TRY(
        probe::succeed(cudaMemcpy(bytes.data(), first_[place(gpu)], bytes_, cudaMemcpyDeviceToHost),
                       "read its results"));
    int version = 0;
    RR_TRY(succeed(cublasGetVersion(gemms_.handle(gpu), &version), "ask cuBLAS for its version"));
    session_.facts().sums.push_back({static_cast<std::uint32_t>(gpu.index),
                                     fmt::format("{} by cuBLAS {}", kind.name, version),
                                     base::hash64(bytes)});
    return {};
  }

  Session& session_;
  const Gemms& gemms_;
  std::size_t bytes_;   // of one product
  std::vector<void*> first_, next_, sums_;   // by GPU
};

}  // namespace

base::Status gemm(Session& session) {
  const int size = session.sizes().gemm;
  const Gemms gemms(session, size);
  const std::vector<void*> products = session.allocate(square(size) * sizeof(float));
  const double tera_flop = 2.0 * size * size * size / 1e12;
  for (const Kind& kind : kFast) {
    if (!session.all_have(kind.major)) continue;
    RR_TRY(session.measure(kind.name, "TFLOP/s", tera_flop, [&]() -> base::Status {
      session.each(
          [&](Gpu& gpu) { return gemms.multiply(kind, gpu, products[Gemms::place(gpu)]); });
      return {};
    }));
  }
  return {};
}

base::Status repeat(Session& session) {
  const Gemms gemms(session, session.sizes().repeat);
  Repetition repetition(session, gemms);
  for (const Kind& kind : kExact) {
    if (session.all_have(kind.major)) repetition.run(kind);
  }
  return {};
}

}  // namespace robustrun::probe
