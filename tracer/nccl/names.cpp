#include "tracer/nccl/names.h"

#include <cstddef>

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

// The name behind "nccl".
struct Type {
  const char* name;
  std::uint8_t bytes;
};

// In the order of ncclDataType_t, which DataType shares.
constexpr Type kTypes[] = {
    {"Int8", 1},    {"Uint8", 1},    {"Int32", 4},      {"Uint32", 4},
    {"Int64", 8},   {"Uint64", 8},   {"Float16", 2},    {"Float32", 4},
    {"Float64", 8}, {"Bfloat16", 2}, {"Float8e4m3", 1}, {"Float8e5m2", 1},
};
constexpr std::size_t kTypeCount = sizeof kTypes / sizeof kTypes[0];
static_assert(static_cast<std::size_t>(DataType::kFloat8e5m2) == kTypeCount - 1);

// The rest of `text` behind `prefix`; null if it does not begin with that. Not strncmp: the first
// letter rules out most rows, and the calls took a third of the time that a callback may take.
const char* behind(const char* prefix, const char* text) {
  for (; *prefix != '\0'; ++prefix, ++text) {
    if (*prefix != *text) return nullptr;
  }
  return text;
}

bool is_same(const char* a, const char* b) {
  const char* const rest = behind(a, b);
  return rest != nullptr && *rest == '\0';
}

}  // namespace

OpKind kind_of(const char* func) {
  if (func == nullptr) return OpKind::kUnknown;
  for (const Func& row : kFuncs) {
    if (is_same(row.name, func)) return row.kind;
  }
  return OpKind::kOther;
}

OpKind kind_of(std::uint8_t func) { return func < kFuncCount ? kFuncs[func].kind : OpKind::kOther; }

DataType type_of(const char* name) {
  if (name == nullptr) return DataType::kUnknown;
  const char* const type = behind("nccl", name);
  if (type == nullptr) return DataType::kOther;
  for (std::size_t i = 0; i < kTypeCount; ++i) {
    if (is_same(kTypes[i].name, type)) return static_cast<DataType>(i);
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
