#include "tracer/analysis/operation.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace robustrun::tracer {
namespace {

constexpr std::array<std::string_view, kOpKinds> kKindNames = {
    "unknown", "all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "all_to_all",
    "gather",  "scatter",    "barrier",   "send",   "recv",       "other"};

// In lower case and without underscores: torch writes "_allgather_base", NCCL "AllGather".
constexpr std::pair<std::string_view, OpKind> kSpellings[] = {
    {"allreduce", OpKind::kAllReduce},
    {"allreducecoalesced", OpKind::kAllReduce},
    {"allreducesparse", OpKind::kAllReduce},
    {"sparseallreduce", OpKind::kAllReduce},
    {"broadcast", OpKind::kBroadcast},
    {"broadcastoop", OpKind::kBroadcast},
    {"reduce", OpKind::kReduce},
    {"reduceoop", OpKind::kReduce},
    {"allgather", OpKind::kAllGather},
    {"allgatherbase", OpKind::kAllGather},
    {"allgathercoalesced", OpKind::kAllGather},
    {"allgatherintotensor", OpKind::kAllGather},
    {"allgatherintotensorcoalesced", OpKind::kAllGather},
    {"reducescatter", OpKind::kReduceScatter},
    {"reducescatterbase", OpKind::kReduceScatter},
    {"reducescattertensor", OpKind::kReduceScatter},
    {"reducescattertensorcoalesced", OpKind::kReduceScatter},
    {"alltoall", OpKind::kAllToAll},
    {"alltoallbase", OpKind::kAllToAll},
    {"alltoallsingle", OpKind::kAllToAll},
    {"gather", OpKind::kGather},
    {"scatter", OpKind::kScatter},
    {"barrier", OpKind::kBarrier},
    {"allreducebarrier", OpKind::kBarrier},
    {"send", OpKind::kSend},
    {"isend", OpKind::kSend},
    {"recv", OpKind::kRecv},
    {"irecv", OpKind::kRecv},
    {"recvanysource", OpKind::kRecv},
};

struct TypeRow {
  std::string_view name;
  DataType type;
};
constexpr TypeRow kTypeSpellings[] = {
    {"int8", DataType::kInt8},
    {"char", DataType::kInt8},
    {"uint8", DataType::kUint8},
    {"byte", DataType::kUint8},
    {"bool", DataType::kUint8},
    {"int32", DataType::kInt32},
    {"int", DataType::kInt32},
    {"uint32", DataType::kUint32},
    {"int64", DataType::kInt64},
    {"long", DataType::kInt64},
    {"uint64", DataType::kUint64},
    {"float16", DataType::kFloat16},
    {"half", DataType::kFloat16},
    {"float32", DataType::kFloat32},
    {"float", DataType::kFloat32},
    {"float64", DataType::kFloat64},
    {"double", DataType::kFloat64},
    {"bfloat16", DataType::kBfloat16},
    {"float8e4m3", DataType::kFloat8e4m3},
    {"float8e4m3fn", DataType::kFloat8e4m3},
    {"float8e5m2", DataType::kFloat8e5m2},
};

constexpr std::size_t kLongestSpelling = 64;

std::string without_case(std::string_view name) {
  std::string plain;
  for (const char c : name.substr(0, kLongestSpelling)) {
    if (c == '_') continue;
    plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return plain;
}

}  // namespace

std::string_view to_string(OpKind kind) {
  const auto at = static_cast<std::size_t>(kind);
  return at < kKindNames.size() ? kKindNames[at] : "unknown";
}

OpKind op_kind_of(std::string_view name) {
  name = name.substr(0, name.find(' '));  // "send 1->2"
  if (const auto colon = name.rfind(':'); colon != std::string_view::npos) {
    name.remove_prefix(colon + 1);
  }
  if (name.empty()) return OpKind::kUnknown;
  const std::string plain = without_case(name);
  const auto* const row =
      std::ranges::find(kSpellings, plain, [](const auto& r) { return r.first; });
  return row == std::end(kSpellings) ? OpKind::kOther : row->second;
}

bool is_point_to_point(OpKind kind) { return kind == OpKind::kSend || kind == OpKind::kRecv; }

bool synchronises_all(OpKind kind) {
  constexpr OpKind kAll[] = {OpKind::kAllReduce, OpKind::kAllGather, OpKind::kReduceScatter,
                             OpKind::kAllToAll, OpKind::kBarrier};
  return std::ranges::find(kAll, kind) != std::end(kAll);
}

bool may_differ_in_size(OpKind kind) {
  return kind == OpKind::kAllToAll || kind == OpKind::kOther || kind == OpKind::kUnknown;
}

std::string_view to_string(DataType type) {
  switch (type) {
    case DataType::kInt8: return "int8";
    case DataType::kUint8: return "uint8";
    case DataType::kInt32: return "int32";
    case DataType::kUint32: return "uint32";
    case DataType::kInt64: return "int64";
    case DataType::kUint64: return "uint64";
    case DataType::kFloat16: return "float16";
    case DataType::kFloat32: return "float32";
    case DataType::kFloat64: return "float64";
    case DataType::kBfloat16: return "bfloat16";
    case DataType::kFloat8e4m3: return "float8_e4m3";
    case DataType::kFloat8e5m2: return "float8_e5m2";
    case DataType::kOther: return "other";
    case DataType::kUnknown: break;
  }
  return "unknown";
}

DataType data_type_of(std::string_view name) {
  for (const std::string_view prefix : {"torch.", "nccl"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  if (name.empty()) return DataType::kUnknown;
  const std::string plain = without_case(name);
  const auto* const row = std::ranges::find(kTypeSpellings, plain, &TypeRow::name);
  return row == std::end(kTypeSpellings) ? DataType::kOther : row->type;
}

std::uint32_t bytes_of(DataType type) {
  switch (type) {
    case DataType::kInt8:
    case DataType::kUint8:
    case DataType::kFloat8e4m3:
    case DataType::kFloat8e5m2: return 1;
    case DataType::kFloat16:
    case DataType::kBfloat16: return 2;
    case DataType::kInt32:
    case DataType::kUint32:
    case DataType::kFloat32: return 4;
    case DataType::kInt64:
    case DataType::kUint64:
    case DataType::kFloat64: return 8;
    case DataType::kOther:
    case DataType::kUnknown: break;
  }
  return 0;
}

}  // namespace robustrun::tracer
