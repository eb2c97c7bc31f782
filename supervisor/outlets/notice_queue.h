#pragma once
// Which notice is sent next to one target, and when. Pure; the caller gives the time.
//
// At most kNoticesWaitingMax notices wait. One more drops the second one, as the first may be on
// its way; the next notice tells how many were dropped. At most kNoticeBurst notices go out within
// kNoticeWindow. A notice that the run has ended or was given up ends this limit. A failed notice
// is tried again after kNoticeRetryFirst, doubled each time up to kNoticeRetryMax, and dropped
// after kNoticeTriesMax tries. Notices keep their order.

#include <cstdint>
#include <deque>
#include <optional>

#include "base/core/clock.h"
#include "supervisor/outlets/limits.h"
#include "supervisor/outlets/notice.h"

namespace robustrun::supervisor {

class NoticeQueue {
 public:
  void push(Notice notice);
  // The notice to send now; it stays in the queue until sent() or failed(). nullopt: none is due.
  [[nodiscard]] std::optional<Notice> next(base::Nanos now);
  // When next() will have one; nullopt: the queue is empty.
  [[nodiscard]] std::optional<base::Nanos> due() const;
  // The notice that next() returned was delivered.
  void sent(base::Nanos now);
  // The notice that next() returned was not delivered. Returns whether it will be tried again.
  // `is_final`: another try would fail as well.
  bool failed(base::Nanos now, bool is_final);
  // The run ends: from now on neither the limit of kNoticeBurst nor earlier failures delay a
  // notice.
  void hurry();
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }
  // Notices that were dropped in all.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  void drop_front();

  std::deque<Notice> waiting_;
  std::deque<base::Nanos> sent_at_;  // at most kNoticeBurst, oldest first
  base::Nanos retry_at_{};
  unsigned tries_ = 0;  // of the first in waiting_
  std::uint64_t dropped_ = 0;
  std::uint64_t untold_ = 0;  // dropped, and in the text of no notice that was sent
  std::uint64_t told_ = 0;  // of these, in the text of the notice that next() returned
  bool is_hurried_ = false;
};

}  // namespace robustrun::supervisor
