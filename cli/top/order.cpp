#include "cli/top/order.h"

#include <fmt/format.h>

#include "wire/messages/injection.h"

namespace robustrun::cli {

using Target = wire::FaultRow::Target;

std::string question_of(const Order& order) {
  switch (order.kind) {
    case Order::Kind::kStop: return "stop the run? its workers may save first";
    case Order::Kind::kEvict:
      return fmt::format("evict {}? all workers are stopped and start again without it",
                         order.node);
    case Order::Kind::kInject: break;
  }
  const wire::FaultRow* const row = wire::find_fault(order.fault);
  std::string target = fmt::format("rank {}", order.rank);
  if (row != nullptr && row->target == Target::kNode) target = order.node;
  if (row != nullptr && row->target == Target::kSupervisor) target = "the supervisor";
  return fmt::format("inject {} into {}?", order.fault, target);
}

std::string why_no_fault(const std::string& fault) {
  if (wire::find_fault(fault) != nullptr) return {};
  std::string names;
  for (const wire::FaultRow& row : wire::fault_rows()) {
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  return "the kinds of faults are " + names;
}

}  // namespace robustrun::cli
