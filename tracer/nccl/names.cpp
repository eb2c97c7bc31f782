#include "tracer/nccl/names.h"

#include <cstddef>
#include <cstring>

namespace robustrun::tracer::nccl {
namespace {

struct Func {
  const char* name;
  OpKind kind;
};

// In the order of ncclFunc_t.
constexpr Func kFuncs[] = {
    {"Broadcast", OpKind::kBroadcast}, {"Reduce", OpKind::kReduce},
    {"AllGather", OpKind::kAllGather}, {"ReduceScatter", OpKind::kReduceScatter},
    {"AllReduce", OpKind::kAllReduce}, {"SendRecv", OpKind::kOther},
    {"Send", OpKind::kSend},           {"Recv", OpKind::kRecv},
    {"AlltoAll", OpKind::kAllToAll},   {"Scatter", OpKind::kScatter},
    {"Gather", OpKind::kGather},
};
constexpr std::size_t kFuncCount = sizeof kFuncs / sizeof kFuncs[0];

// In the order of ncclDataType_t, which is that of DataType.
struct Type {
  const char* name;
  std::uint8_t bytes;
};

// In the order of ncclDataType_t, which is that of DataType.
constexpr Type kTypes[] = {
    {"ncclInt8", 1},    {"ncclUint8", 1},    {"ncclInt32", 4},      {"ncclUint32", 4},
    {"ncclInt64", 8},   {"ncclUint64", 8},   {"ncclFloat16", 2},    {"ncclFloat32", 4},
    {"ncclFloat64", 8}, {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1}, {"ncclFloat8e5m2", 1},
};
constexpr std::size_t kTypeCount = sizeof kTypes / sizeof kTypes[0];
static_assert(static_cast<std::size_t>(DataType::kFloat8e5m2) == kTypeCount - 1);

}  // namespace

OpKind kind_of(const char* func) {
  if (func == nullptr) return OpKind::kUnknown;
  for (const Func& row : kFuncs) {
    if (std::strcmp(func, row.name) == 0) return row.kind;
  }
  return OpKind::kOther;
}

OpKind kind_of(std::uint8_t func) { return func < kFuncCount ? kFuncs[func].kind : OpKind::kOther; }

DataType type_of(const char* name) {
  if (name == nullptr) return DataType::kUnknown;
  for (std::size_t i = 0; i < kTypeCount; ++i) {
    if (std::strcmp(name, kTypes[i].name) == 0) return static_cast<DataType>(i);
  }
  return DataType::kOther;
}

DataType type_of(std::uint8_t number) {
  return number < kTypeCount ? static_cast<DataType>(number) : DataType::kOther;
}

std::uint64_t size_of(DataType type) {
  const auto index = static_cast<std::size_t>(type);
  return index < kTypeCount ? kTypes[index].bytes : 0;
}

}  // namespace robustrun::tracer::nccl
