// What people are notified of, and in which form.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "supervisor/outlets/notice_fold.h"
#include "supervisor/outlets/notice_texts.h"

namespace robustrun::supervisor::notices_test {
namespace {

using namespace std::chrono_literals;
using Kind = NotifyTarget::Kind;

RunEvent state(const char* to, base::Nanos at) {
  RunEvent event;
  event.event = "state";
  event.to = to;
  event.at = at;
  return event;
}

RunEvent decision(const char* text, base::Nanos at, bool gave_up = false) {
  RunEvent event;
  event.event = "decision";
  event.text = text;
  event.at = at;
  event.incident = !gave_up;
  event.gave_up = gave_up;
  return event;
}

RunEvent finished(int code) {
  RunEvent event;
  event.event = "finished";
  event.exit_code = code;
  return event;
}

NoticeKind kind_of(const std::optional<Notice>& notice) {
  REQUIRE(notice);
  return notice->kind;
}

TEST_CASE("start, failure, recovery and end are told, each once") {
  NoticeFold fold(0s);
  CHECK_FALSE(fold.take(state("starting", 1s)));
  CHECK(kind_of(fold.take(state("running", 2s))) == NoticeKind::kStarted);
  const auto incident = fold.take(decision("rank 1 on n\n2: SIGKILL", 60s));
  CHECK(kind_of(incident) == NoticeKind::kIncident);
  CHECK(incident->text == "rank 1 on n\\x0a2: SIGKILL");
  CHECK_FALSE(fold.take(state("stopping", 61s)));
  const auto again = fold.take(state("running", 72s));
  CHECK(kind_of(again) == NoticeKind::kRecovered);
  CHECK(again->text.find("12.00 s after") != std::string::npos);
  CHECK_FALSE(fold.take(state("running", 80s)));  // the group has grown
  const auto end = fold.take(finished(0));
  CHECK(kind_of(end) == NoticeKind::kFinished);
  CHECK(end->exit_code == 0);
}

TEST_CASE("a run that gave up is not told to have finished as well") {
  NoticeFold fold(0s);
  CHECK(kind_of(fold.take(decision("giving up", 5s, true))) == NoticeKind::kGaveUp);
  CHECK_FALSE(fold.take(finished(95)));
}

TEST_CASE("a run without a step is told once until it makes steps again") {
  NoticeFold fold(30min);
  RunStatus status;
  status.run_id = "r";
  status.state = JobState::kRunning;
  CHECK_FALSE(fold.look(status, 1h));  // a script without steps
  status.stepped = 29min;
  CHECK_FALSE(fold.look(status, 1h));
  status.stepped = 30min;
  const auto stalled = fold.look(status, 1h);
  CHECK(kind_of(stalled) == NoticeKind::kStalled);
  CHECK(stalled->text.find("robustrun diagnose r") != std::string::npos);
  CHECK_FALSE(fold.look(status, 1h));
  status.stepped = 1s;
  CHECK(kind_of(fold.look(status, 1h)) == NoticeKind::kRecovered);
  CHECK_FALSE(fold.look(status, 1h));
  status.state = JobState::kBackoff;
  status.stepped = 2h;
  CHECK_FALSE(fold.look(status, 1h));
}

const NoticeSubject kSubject{"run-1", "/home/u/tr\u00e4in.py", "node7"};
const Notice kNotice{NoticeKind::kIncident, 5s, "rank 1: <b> & \"quotes\""};

base::HttpPost request(Kind kind) {
  return notice_request({kind, "https://h.example/secret"}, kNotice, kSubject, 1'754'042'402'400ms);
}

TEST_CASE("Slack, Teams, webhooks and ntfy get what they read") {
  const auto slack = nlohmann::json::parse(request(Kind::kSlack).body);
  CHECK(slack["text"].get<std::string>().find("&lt;b&gt; &amp;") != std::string::npos);
  const auto teams = nlohmann::json::parse(request(Kind::kTeams).body);
  const auto& card = teams["attachments"][0];
  CHECK(card["contentType"] == "application/vnd.microsoft.card.adaptive");
  CHECK(card["content"]["body"].size() == 2);
  CHECK(card["content"]["body"][1]["text"].get<std::string>().starts_with(kNotice.text));
  const auto hook = nlohmann::json::parse(request(Kind::kWebhook).body);
  CHECK(hook["event"] == "incident");
  CHECK(hook["run_id"] == "run-1");
  CHECK(hook["text"] == kNotice.text);
  CHECK(hook["time"] == "2025-08-01T10:00:02.400Z");
  CHECK_FALSE(hook.contains("exit_code"));
  const base::HttpPost ntfy = request(Kind::kNtfy);
  CHECK(ntfy.body.starts_with(kNotice.text));
  CHECK(std::ranges::find(ntfy.headers, "Title: tr??in.py: incident (node7)") !=
        ntfy.headers.end());
  CHECK(std::ranges::find(ntfy.headers, "Priority: 4") != ntfy.headers.end());
}

TEST_CASE("a mail has its headers, then a blank line and the text") {
  const std::string mail = notice_mail("me@example.org", kNotice, kSubject);
  CHECK(mail.starts_with("To: me@example.org\nSubject: tr??in.py: incident (node7)\n"));
  CHECK(mail.find("\n\nrank 1: <b>") != std::string::npos);
}

TEST_CASE("a target is shown without its secret") {
  CHECK(shown_target({Kind::kSlack, "https://u:p@hooks.slack.com:443/services/T/B/x"}) ==
        "slack (hooks.slack.com:443)");
  CHECK(shown_target({Kind::kNtfy, "https://ntfy.sh/topic?x"}) == "ntfy (ntfy.sh)");
  CHECK(shown_target({Kind::kMail, "me@example.org"}) == "mail to me@example.org");
}

}  // namespace
}  // namespace robustrun::supervisor::notices_test
