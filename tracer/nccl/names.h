#pragma once
// NCCL's names and numbers of operations and data types, as ours.

#include <cstdint>

#include "tracer/analysis/operation.h"

namespace robustrun::tracer::nccl {

// "AllReduce"; kUnknown for a null pointer, kOther for what is not in the table.
[[nodiscard]] OpKind kind_of(const char* func);
// Numbers of ncclFunc_t, that version 1 alone uses.
[[nodiscard]] OpKind kind_of(std::uint8_t func);
// "ncclFloat32".
[[nodiscard]] DataType type_of(const char* name);
// Numbers of ncclDataType_t.
[[nodiscard]] DataType type_of(std::uint8_t number);
// Of one element; 0: not known.
[[nodiscard]] std::uint64_t size_of(DataType type);

}  // namespace robustrun::tracer::nccl
