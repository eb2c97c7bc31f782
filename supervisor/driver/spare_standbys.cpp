#include "supervisor/driver/spare_standbys.h"

#include "wire/messages/limits.h"

namespace robustrun::supervisor {
namespace {

std::uint32_t version_of(const wire::StartWorkers& order) {
  return order.version ? order.version->number : 0;
}

}  // namespace

void SpareStandbys::note_start(base::NodeId node, const wire::StartWorkers& order) {
  heard_.erase(node);
  if (order.group_rank + 1 == order.group_world_size) newest_ = order;
  if (serial_ == 0 || keep_.list.empty() || version_of(order) == version_of(keep_.like)) return;
  keep_.list.clear();
  ++serial_;
}

void SpareStandbys::note_modules(const wire::StandbyModules& report) {
  if (!newest_ || report.attempt != newest_->attempt || report.list.empty()) return;
  if (report.list.size() > wire::kModulesBytesMax) return;
  const bool fits_kept = !keep_.list.empty() && version_of(*newest_) == version_of(keep_.like) &&
                         newest_->slots.size() == keep_.like.slots.size();
  // Ranks import different modules, and any rank may have made the earlier run's list.
  if (fits_kept && (report.list == keep_.list || report.is_of_earlier_run)) return;
  keep_ = {*newest_, report.list};
  ++serial_;
}

std::optional<wire::KeepStandbys> SpareStandbys::tell(base::NodeId node,
                                                      base::Generation generation) {
  const auto heard = heard_.find(node);
  const bool has_heard = heard != heard_.end() && heard->second.generation == generation;
  if (has_heard ? heard->second.serial == serial_ : keep_.list.empty()) return std::nullopt;
  heard_.insert_or_assign(node, Heard{generation, serial_});
  return keep_;
}

}  // namespace robustrun::supervisor
