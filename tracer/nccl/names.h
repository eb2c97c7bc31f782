#pragma once
// Maps NCCL's names and numbers of operations and data types to OpKind and DataType.

#include <cstdint>

#include "tracer/analysis/operation.h"

namespace robustrun::tracer::nccl {

// For example "AllReduce". kUnknown for a null pointer, kOther for an unknown name.
[[nodiscard]] OpKind kind_of(const char* func);
// Numbers of ncclFunc_t, which only version 1 of NCCL's profiler interface uses.
[[nodiscard]] OpKind kind_of(std::uint8_t func);
// For example "ncclFloat32".
[[nodiscard]] DataType type_of(const char* name);
// Numbers of ncclDataType_t.
[[nodiscard]] DataType type_of(std::uint8_t number);
// Bytes of one element; 0: unknown.
[[nodiscard]] std::uint64_t size_of(DataType type);

}  // namespace robustrun::tracer::nccl
