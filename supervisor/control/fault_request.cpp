#include "supervisor/control/fault_request.h"

#include "base/core/text.h"
#include "supervisor/control/fields.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {
namespace {

base::Status read_rank(const ControlFields& fields, std::optional<base::Rank>& rank) {
  if (!fields.contains("rank")) return {};
  rank.emplace();
  return read_number(fields, "rank", rank->value);
}

base::Status read_time(const ControlFields& fields, const char* name, base::Nanos& time) {
  std::int64_t count = 0;
  RR_TRY(read_number(fields, name, count));
  time = base::Nanos(count);
  if (time >= base::Nanos{} && time <= kFaultTimeMax) return {};
  return base::fail(base::Errc::kInvalidArgument,
                    std::string(name) + " is negative or more than ten years");
}

// The answer quotes it.
base::Status read_node(const ControlFields& fields, std::string& node) {
  node = text_of(fields, "node");
  if (node.size() <= kNodeNameBytesMax) return {};
  return base::fail(base::Errc::kInvalidArgument, "no node has a name as long as that");
}

}  // namespace

ControlFields to_fields(const FaultRequest& request) {
  ControlFields fields{{"command", "inject"},
                       {"kind", std::string(wire::find_fault(request.kind)->name)},
                       {"draw", std::to_string(request.draw)},
                       {"duration_ns", std::to_string(request.duration.count())},
                       {"delay_ns", std::to_string(request.delay.count())}};
  if (request.rank) fields["rank"] = std::to_string(request.rank->value);
  if (!request.node.empty()) fields["node"] = request.node;
  return fields;
}

base::Result<FaultRequest> read_fault_request(const ControlFields& fields) {
  FaultRequest request;
  const std::string kind = text_of(fields, "kind");
  const wire::FaultRow* const row = wire::find_fault(kind);
  if (row == nullptr) {
    return base::fail(base::Errc::kInvalidArgument,
                      "cannot inject '" + base::printable(kind.substr(0, kShownWordBytes)) +
                          "': no such kind of fault");
  }
  request.kind = row->kind;
  RR_TRY(read_node(fields, request.node));
  RR_TRY(read_rank(fields, request.rank));
  RR_TRY(read_number(fields, "draw", request.draw));
  RR_TRY(read_time(fields, "duration_ns", request.duration));
  RR_TRY(read_time(fields, "delay_ns", request.delay));
  return request;
}

ControlFields to_fields(const FaultReport& report) {
  ControlFields fields{{"type", "inject"},
                       {"node", report.node},
                       {"pid", std::to_string(report.pid)},
                       {"done", report.done}};
  if (report.rank) fields["rank"] = std::to_string(report.rank->value);
  return fields;
}

base::Result<FaultReport> read_fault_report(const ControlFields& fields) {
  FaultReport report;
  report.node = text_of(fields, "node");
  report.done = text_of(fields, "done");
  RR_TRY(read_rank(fields, report.rank));
  RR_TRY(read_number(fields, "pid", report.pid));
  return report;
}

}  // namespace robustrun::supervisor
