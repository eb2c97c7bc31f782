#pragma once
// What probe/gpu uses of NCCL: see cuda_runtime_api.h.

#include "tests/played_cuda/cuda_runtime_api.h"

using ncclComm_t = struct PlayedComm*;

enum ncclResult_t { ncclSuccess, ncclSystemError, ncclInvalidUsage };
enum ncclDataType_t { ncclUint32 };

const char* ncclGetErrorString(ncclResult_t result);
const char* ncclGetLastError(ncclComm_t comm);
ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream);
