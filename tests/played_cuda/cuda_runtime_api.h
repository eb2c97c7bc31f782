#pragma once
// What probe/gpu uses of CUDA's runtime API, for machines without it: same names and meanings,
// other numbers. tests/played_cuda/played.h says who plays it.

#include <cstddef>

using cudaStream_t = struct PlayedStream*;
using cudaEvent_t = struct PlayedEvent*;

enum cudaError_t {
  cudaSuccess,
  cudaErrorMemoryAllocation,
  cudaErrorInvalidDevice,
  cudaErrorInsufficientDriver,
  cudaErrorECCUncorrectable,
  cudaErrorNotReady,
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum cudaDataType_t { CUDA_R_16BF, CUDA_R_16F, CUDA_R_32F };
struct cudaDeviceProp {
  char name[256];
  int major;
};

const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end);
cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaMemset(void* memory, int value, std::size_t bytes);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
