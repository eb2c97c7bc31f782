#pragma once
// What probe/gpu uses of cuBLAS: see cuda_runtime_api.h.

#include "tests/played_cuda/cuda_runtime_api.h"

using cublasHandle_t = struct PlayedHandle*;

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS, CUBLAS_STATUS_INVALID_VALUE };
enum cublasOperation_t { CUBLAS_OP_N };
enum cublasComputeType_t { CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32 };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE };

const char* cublasGetStatusString(cublasStatus_t status);
cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasGetVersion(cublasHandle_t handle, int* version);
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t cublasSaxpy(cublasHandle_t handle, int count, const float* alpha, const float* x,
                           int x_step, float* y, int y_step);
cublasStatus_t cublasSasum(cublasHandle_t handle, int count, const float* x, int x_step,
                           float* sum);
cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t turn_a,
                            cublasOperation_t turn_b, int m, int n, int k, const void* alpha,
                            const void* a, cudaDataType_t a_type, int a_rows, const void* b,
                            cudaDataType_t b_type, int b_rows, const void* beta, void* c,
                            cudaDataType_t c_type, int c_rows, cublasComputeType_t compute,
                            cublasGemmAlgo_t algorithm);
