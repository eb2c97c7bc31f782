// Order, rate and retries of notices to one target.
#include "supervisor/outlets/notice_queue.h"

#include <doctest/doctest.h>

#include <string>

namespace robustrun::supervisor::notice_queue_test {
namespace {

using namespace std::chrono_literals;

Notice notice(const std::string& text, NoticeKind kind = NoticeKind::kIncident) {
  return {kind, {}, text};
}

TEST_CASE("notices go out at once and in their order") {
  NoticeQueue queue;
  CHECK_FALSE(queue.next(1s));
  CHECK_FALSE(queue.due());
  queue.push(notice("a"));
  queue.push(notice("b"));
  CHECK(queue.next(1s)->text == "a");
  queue.sent(1s);
  CHECK(queue.next(1s)->text == "b");
  queue.sent(1s);
  CHECK(queue.size() == 0);
}

TEST_CASE("a failed notice is tried again later and later, and dropped in the end") {
  NoticeQueue queue;
  queue.push(notice("a"));
  queue.push(notice("b"));
  base::Nanos now = 1s;
  base::Nanos wait = kNoticeRetryFirst;
  for (unsigned i = 1; i < kNoticeTriesMax; ++i) {
    CHECK(queue.next(now)->text == "a");
    CHECK(queue.failed(now, false));
    CHECK_FALSE(queue.next(now + wait - 1ms));
    CHECK(queue.due() == now + wait);
    now += wait;
    wait = std::min<base::Nanos>(2 * wait, kNoticeRetryMax);
  }
  CHECK_FALSE(queue.failed(now, false));
  CHECK(queue.dropped() == 1);
  CHECK(queue.next(now + kNoticeRetryMax)->text == "b (1 notice left out)");
  CHECK_FALSE(queue.failed(now, true));  // another try would fail as well
  CHECK(queue.size() == 0);
}

TEST_CASE("the rate is limited, but not for the run's end") {
  NoticeQueue queue;
  for (std::size_t i = 0; i < kNoticeBurst; ++i) {
    queue.push(notice("x"));
    REQUIRE(queue.next(1s));
    queue.sent(1s);
  }
  queue.push(notice("late"));
  CHECK_FALSE(queue.next(2s));
  CHECK(queue.due() == 1s + kNoticeWindow);
  CHECK(queue.next(1s + kNoticeWindow)->text == "late");
  queue.push(notice("over", NoticeKind::kFinished));
  CHECK(queue.next(2s)->text == "late");
  queue.sent(2s);
  CHECK(queue.next(2s)->text == "over");
}

TEST_CASE("of too many the oldest are left out, but not the one on its way") {
  NoticeQueue queue;
  for (std::size_t i = 0; i < kNoticesWaitingMax + 3; ++i) queue.push(notice(std::to_string(i)));
  CHECK(queue.size() == kNoticesWaitingMax);
  CHECK(queue.dropped() == 3);
  CHECK(queue.next(1s)->text == "0 (3 notices left out)");
  queue.push(notice("while the first is on its way"));
  queue.sent(1s);
  CHECK(queue.next(1s)->text == "5 (1 notice left out)");
  queue.sent(1s);
  CHECK(queue.next(1s)->text == "6");
}

TEST_CASE("at the run's end nothing waits for the rate or for earlier failures") {
  NoticeQueue queue;
  for (std::size_t i = 0; i < kNoticeBurst; ++i) {
    queue.push(notice("x"));
    queue.sent(1s);
  }
  queue.push(notice("a"));
  CHECK(queue.failed(1s, false));
  queue.hurry();
  CHECK(queue.next(1s)->text == "a");
}

}  // namespace
}  // namespace robustrun::supervisor::notice_queue_test
