#pragma once
// Makes a request or a mail from a notice, for each kind of target. Pure.

#include <string>
#include <vector>

#include "base/io/http/post.h"
#include "supervisor/outlet_plan.h"
#include "supervisor/outlets/notice.h"

namespace robustrun::supervisor {

// The run that notices are about.
struct NoticeSubject {
  std::string run_id;
  std::string program;
  std::string host;  // of the supervisor
};

// "train.py: incident (node7)"
[[nodiscard]] std::string notice_title(const Notice& notice, const NoticeSubject& subject);
// For every kind of target but mail. `wall_time`: of the notice, since the Unix epoch.
[[nodiscard]] base::HttpPost notice_request(const NotifyTarget& target, const Notice& notice,
                                            const NoticeSubject& subject, base::Nanos wall_time);
// Header and body for sendmail(8).
[[nodiscard]] std::string notice_mail(const std::string& address, const Notice& notice,
                                      const NoticeSubject& subject);
// A target in messages, without its secret: "slack (hooks.slack.com)", "mail to me@example.org".
[[nodiscard]] std::string shown_target(const NotifyTarget& target);

}  // namespace robustrun::supervisor
