#include "cli/top/order.h"

#include <fmt/format.h>

#include <vector>

#include "base/core/text.h"
#include "cli/options/command_words.h"
#include "wire/messages/injection.h"

namespace robustrun::cli {

using Target = wire::FaultRow::Target;

namespace {

std::string update_question(const std::string& words) {
  const auto update = read_update(words);
  if (!update) return update.error().what;
  const supervisor::UpdateOrder& order = update->plan.order;
  std::vector<std::string> changes = update->plan.update.words;
  if (update->line.code) changes.push_back("code from " + base::printable(*update->line.code));
  if (update->line.rolls_back) {
    changes = {order.back_to ? fmt::format("go back to version {}", *order.back_to)
                             : std::string("go back to the version before")};
  }
  return fmt::format("update: {}? the workers {}", base::join(changes, ", "),
                     order.now ? "restart at once" : "get it when they restart");
}

}  // namespace

std::string question_of(const Order& order) {
  switch (order.kind) {
    case Order::Kind::kStop: return "stop the run? its workers may save first";
    case Order::Kind::kEvict:
      return fmt::format("evict {}? all workers are stopped and start again without it",
                         order.node);
    case Order::Kind::kUpdate: return update_question(order.update);
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

base::Result<UpdateWords> read_update(const std::string& words) {
  constexpr auto kInvalid = base::Errc::kInvalidArgument;
  const auto split = command_words(words);
  if (!split) return base::fail(kInvalid, "--code DIR, --env NAME=VALUE, --args ..., --now");
  UpdateWords update;
  update.line = RR_TRY(parse_update_line(*split));
  if (update.line.help || update.line.list || !update.line.run.empty()) {
    return base::fail(kInvalid, "here: only options that change this run");
  }
  update.plan = RR_TRY(plan_update(update.line));
  return update;
}

}  // namespace robustrun::cli
