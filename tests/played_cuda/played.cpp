#include "tests/played_cuda/played.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/played_cuda/cublas_v2.h"
#include "tests/played_cuda/nccl.h"

using robustrun::base::Nanos;
using robustrun::test::GpuFault;

struct PlayedStream {
  int gpu = 0;
  Nanos busy_until{};
};
struct PlayedEvent {
  Nanos at{};
};
struct PlayedHandle {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t mode = CUBLAS_POINTER_MODE_HOST;
  int products = 0;
};
struct PlayedComm {
  int rank = 0;
  int gpu = 0;
  std::vector<PlayedComm*>* all = nullptr;
};

namespace {

constexpr Nanos kLook = std::chrono::milliseconds(10);   // what a look at the clock takes
constexpr Nanos kWork = std::chrono::milliseconds(1);     // what anything takes on a GPU
constexpr int kFlipped = 5;  // the product that is not as the others

struct Call {
  enum class Kind { kSend, kReceive, kGather } kind;
  PlayedComm* comm;
  int peer;
  const void* from;
  void* to;
  std::size_t count;
  PlayedStream* stream;
};

struct State {
  robustrun::test::PlayedMachine machine;
  Nanos now{};
  int selected = 0;
  std::vector<std::unique_ptr<PlayedStream>> streams;
  std::vector<std::unique_ptr<PlayedEvent>> events;
  std::vector<std::unique_ptr<PlayedHandle>> handles;
  std::vector<std::unique_ptr<PlayedComm>> comms;
  std::vector<std::unique_ptr<std::vector<PlayedComm*>>> circles;
  std::vector<std::unique_ptr<std::string>> memory;
  std::vector<Call> calls;  // of the group that is open
};
State state;  // NOLINT: as the libraries have it

bool has(int gpu, GpuFault fault) {
  const auto found = state.machine.faults.find(gpu);
  return found != state.machine.faults.end() && found->second == fault;
}

void work(PlayedStream* stream) {
  stream->busy_until = std::max(stream->busy_until, state.now) +
                       (has(stream->gpu, GpuFault::kSlow) ? 2 * kWork : kWork);
}

template <class T>
T* kept(std::vector<std::unique_ptr<T>>& all, T value) {
  return all.emplace_back(std::make_unique<T>(std::move(value))).get();
}

}  // namespace

namespace robustrun::test {

void play(const PlayedMachine& machine) {
  state = {};
  state.machine = machine;
}

base::Nanos PlayedClock::now() const { return state.now += kLook; }

}  // namespace robustrun::test

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : "some error";
}
const char* cudaGetErrorName(cudaError_t /*error*/) { return "cudaErrorPlayed"; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = state.machine.gpus;
  return state.machine.driver ? cudaSuccess : cudaErrorInsufficientDriver;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int /*device*/) {
  std::strcpy(properties->name, "NVIDIA Played");
  properties->major = state.machine.major;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  state.selected = device;
  return has(device, GpuFault::kLost) ? cudaErrorInvalidDevice : cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = kept(state.streams, PlayedStream{state.selected, {}});
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (has(stream->gpu, GpuFault::kBroken)) return cudaErrorECCUncorrectable;
  const bool hangs = has(stream->gpu, GpuFault::kHangs);
  return hangs || state.now < stream->busy_until ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = kept(state.events, PlayedEvent{});
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->at = std::max(stream->busy_until, state.now);
  return stream->gpu == state.selected ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  *ms = std::chrono::duration<float, std::milli>(end->at - begin->at).count();
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (has(state.selected, GpuFault::kNoMemory)) return cudaErrorMemoryAllocation;
  *memory = kept(state.memory, std::string(bytes, '\xEE'))->data();
  return cudaSuccess;
}

cudaError_t cudaMemset(void* memory, int value, std::size_t bytes) {
  std::memset(memory, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind /*kind*/) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  work(stream);
  return cudaMemcpy(to, from, bytes, kind);
}

const char* cublasGetStatusString(cublasStatus_t /*status*/) { return "CUBLAS_STATUS_PLAYED"; }

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = kept(state.handles, PlayedHandle{});
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion(cublasHandle_t /*handle*/, int* version) {
  *version = 130100;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  handle->mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSaxpy(cublasHandle_t handle, int count, const float* alpha, const float* x,
                           int /*x_step*/, float* y, int /*y_step*/) {
  if (handle->mode != CUBLAS_POINTER_MODE_HOST) return CUBLAS_STATUS_INVALID_VALUE;
  for (int i = 0; i < count; ++i) y[i] += *alpha * x[i];
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSasum(cublasHandle_t handle, int count, const float* x, int /*x_step*/,
                           float* sum) {
  if (handle->mode != CUBLAS_POINTER_MODE_DEVICE) return CUBLAS_STATUS_INVALID_VALUE;
  *sum = 0;
  for (int i = 0; i < count; ++i) *sum += std::abs(x[i]);
  return CUBLAS_STATUS_SUCCESS;
}

// Not a product, but something that depends on every number of both.
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t /*turn_a*/,
                            cublasOperation_t /*turn_b*/, int m, int n, int k, const void* alpha,
                            const void* a, cudaDataType_t /*a_type*/, int /*a_rows*/, const void* b,
                            cudaDataType_t /*b_type*/, int /*b_rows*/, const void* beta, void* c,
                            cudaDataType_t c_type, int /*c_rows*/, cublasComputeType_t /*compute*/,
                            cublasGemmAlgo_t /*algorithm*/) {
  const bool plain =
      *static_cast<const float*>(alpha) == 1 && *static_cast<const float*>(beta) == 0;
  if (!plain || m != n || n != k || handle->mode != CUBLAS_POINTER_MODE_HOST) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  work(handle->stream);
  ++handle->products;
  if (c_type != CUDA_R_32F) return CUBLAS_STATUS_SUCCESS;
  const auto* const left = static_cast<const std::uint16_t*>(a);
  const auto* const right = static_cast<const std::uint16_t*>(b);
  auto* const product = static_cast<float*>(c);
  for (int i = 0; i < m * n; ++i) {
    product[i] = static_cast<float>(left[i] % 97) * static_cast<float>(right[i] % 89);
  }
  const int gpu = handle->stream->gpu;
  const bool odd_one = handle->products == kFlipped;
  if (odd_one && has(gpu, GpuFault::kFlipsOnce)) product[m] += 0.5F;
  if (odd_one && has(gpu, GpuFault::kNotANumber)) {
    product[m] = std::numeric_limits<float>::quiet_NaN();
  }
  if (has(gpu, GpuFault::kOtherBits)) product[m] += 1;
  return CUBLAS_STATUS_SUCCESS;
}

const char* ncclGetErrorString(ncclResult_t /*result*/) { return "unhandled system error"; }
const char* ncclGetLastError(ncclComm_t /*comm*/) { return "played"; }

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  if (!state.machine.nccl) return ncclSystemError;
  auto* const all = kept(state.circles, std::vector<PlayedComm*>{});
  for (int rank = 0; rank < count; ++rank) {
    comms[rank] = kept(state.comms, PlayedComm{rank, devices[rank], all});
    all->push_back(comms[rank]);
  }
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() { return ncclSuccess; }

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t /*type*/, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  state.calls.push_back({Call::Kind::kSend, comm, peer, from, nullptr, count, stream});
  return ncclSuccess;
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t /*type*/, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  state.calls.push_back({Call::Kind::kReceive, comm, peer, nullptr, to, count, stream});
  return ncclSuccess;
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t /*type*/,
                           ncclComm_t comm, cudaStream_t stream) {
  state.calls.push_back({Call::Kind::kGather, comm, -1, from, to, count, stream});
  return ncclSuccess;
}

// Who sends what `call` waits for from this rank.
static const Call* sender_to(const Call& call, int rank) {
  const PlayedComm* const peer = (*call.comm->all)[static_cast<std::size_t>(rank)];
  for (const Call& other : state.calls) {
    const bool for_all = call.kind == Call::Kind::kGather;
    const bool fits = for_all ? other.kind == Call::Kind::kGather
                              : other.kind == Call::Kind::kSend && other.peer == call.comm->rank;
    if (fits && other.comm == peer && other.count == call.count) return &other;
  }
  return nullptr;
}

ncclResult_t ncclGroupEnd() {
  constexpr std::size_t kWord = sizeof(std::uint32_t);
  for (const Call& call : state.calls) {
    if (call.kind == Call::Kind::kSend) continue;
    if (call.stream->gpu != call.comm->gpu) return ncclInvalidUsage;
    const bool for_all = call.kind == Call::Kind::kGather;
    const int ranks = static_cast<int>(call.comm->all->size());
    auto* to = static_cast<char*>(call.to);
    for (int rank = for_all ? 0 : call.peer; rank < (for_all ? ranks : call.peer + 1); ++rank) {
      const Call* const sender = sender_to(call, rank);
      if (sender == nullptr) return ncclInvalidUsage;
      std::memcpy(to, sender->from, call.count * kWord);
      to += call.count * kWord;
    }
    if (has(call.comm->gpu, GpuFault::kLosesWords)) {
      std::memset(call.to, 0, 2 * kWord);
    }
    work(call.stream);
  }
  state.calls.clear();
  return ncclSuccess;
}
