#include "supervisor/core/job/saves/resume_point.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

void ResumePoint::begin_attempt() {
  loaded_.reset();
  directories_.clear();
}

bool ResumePoint::take(const CheckpointNoted& noted, base::NodeId node) {
  if (noted.what == CheckpointNoted::What::kCommitted) committed_ = noted.id;
  if (noted.what != CheckpointNoted::What::kLoaded || loaded_ == noted.id) return false;
  loaded_ = noted.id;
  directories_ = noted.directories;
  node_ = node;
  return true;
}

const ResumePoint::Record* ResumePoint::find(const CheckpointId& id) const {
  const auto found = std::ranges::find(records_, id, &Record::id);
  return found == records_.end() ? nullptr : &*found;
}

ResumePoint::Record& ResumePoint::record() {
  const auto found = std::ranges::find(records_, *loaded_, &Record::id);
  if (found == records_.end()) {
    if (records_.size() == kSuspectCheckpointsMax) records_.pop_back();
    records_.insert(records_.begin(), Record{*loaded_, 0, false});
  } else {
    std::rotate(records_.begin(), found, found + 1);
  }
  return records_.front();
}

std::uint32_t ResumePoint::failures() const {
  const Record* const found = loaded_ ? find(*loaded_) : nullptr;
  return found == nullptr ? 0 : found->failures;
}

bool ResumePoint::is_demoted(const CheckpointId& id) const {
  const Record* const found = find(id);
  return found != nullptr && found->demoted;
}

void ResumePoint::count_failure() { ++record().failures; }

void ResumePoint::begin_demotion(base::NodeId asked) {
  record().demoted = true;
  demoting_ = true;
  asked_ = asked;
  ++order_;
}

bool ResumePoint::end_demotion(std::uint64_t order, bool is_marked) {
  if (!demoting_ || order != order_) return false;
  demoting_ = false;
  records_.front().demoted = is_marked;
  return true;
}

std::string in_words(const CheckpointId& id) {
  if (id.token.empty()) return fmt::format("step {}", id.step);
  return fmt::format("step {} (g{}-{})", id.step, id.generation, id.token);
}

}  // namespace robustrun::supervisor
