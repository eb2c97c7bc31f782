#include "supervisor/outlets/notice_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/core/result.h"
#include "base/core/words.h"

namespace robustrun::supervisor {
namespace {

// The rate does not delay these.
bool ends_the_run(const Notice& notice) {
  return notice.kind == NoticeKind::kGaveUp || notice.kind == NoticeKind::kFinished;
}

}  // namespace

void NoticeQueue::push(Notice notice) {
  if (waiting_.size() == kNoticesWaitingMax) {
    waiting_.erase(waiting_.begin() + 1);  // the first may be on its way
    ++dropped_;
    ++untold_;
  }
  waiting_.push_back(std::move(notice));
}

std::optional<Notice> NoticeQueue::next(base::Nanos now) {
  const auto at = due();
  if (!at || *at > now) return std::nullopt;
  Notice notice = waiting_.front();
  told_ = untold_;
  if (untold_ > 0) notice.text += fmt::format(" ({} left out)", base::counted(untold_, "notice"));
  return notice;
}

std::optional<base::Nanos> NoticeQueue::due() const {
  if (waiting_.empty()) return std::nullopt;
  if (is_hurried_) return retry_at_;
  const bool is_limited = sent_at_.size() == kNoticeBurst && !ends_the_run(waiting_.back());
  return is_limited ? std::max(retry_at_, sent_at_.front() + kNoticeWindow) : retry_at_;
}

void NoticeQueue::sent(base::Nanos now) {
  RR_ASSERT(!waiting_.empty());
  waiting_.pop_front();
  tries_ = 0;
  untold_ -= std::exchange(told_, 0);
  retry_at_ = base::Nanos{};
  if (sent_at_.size() == kNoticeBurst) sent_at_.pop_front();
  sent_at_.push_back(now);
}

bool NoticeQueue::failed(base::Nanos now, bool is_final) {
  RR_ASSERT(!waiting_.empty());
  ++tries_;
  base::Nanos wait = kNoticeRetryFirst;
  for (unsigned i = 1; i < tries_ && wait < kNoticeRetryMax; ++i) wait *= 2;
  retry_at_ =
      now + (is_hurried_ ? kNoticeRetryFirst : std::min<base::Nanos>(wait, kNoticeRetryMax));
  if (!is_final && tries_ < kNoticeTriesMax) return true;
  drop_front();
  return false;
}

void NoticeQueue::hurry() {
  is_hurried_ = true;
  retry_at_ = base::Nanos{};
}

void NoticeQueue::drop_front() {
  waiting_.pop_front();
  tries_ = 0;
  ++dropped_;
  ++untold_;
}

}  // namespace robustrun::supervisor
