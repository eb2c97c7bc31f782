#include "supervisor/outlets/notice_texts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "supervisor/core/report/inert.h"
#include "supervisor/core/status/event_lines.h"
#include "supervisor/outlets/limits.h"

namespace robustrun::supervisor {
namespace {

using Kind = NotifyTarget::Kind;

// For headers of HTTP and mail.
std::string ascii(std::string_view text) {
  std::string plain(text);
  std::ranges::replace_if(plain, [](unsigned char c) { return c < 0x20 || c > 0x7E; }, '?');
  return plain;
}

std::string body_text(const Notice& notice, const NoticeSubject& subject) {
  return fmt::format("{}\nrun {} on {}", notice.text, subject.run_id, subject.host);
}

// https://api.slack.com/messaging/webhooks; &, < and > are its control characters.
std::string slack_body(const std::string& title, const std::string& text) {
  const std::string escaped = with_escapes(fmt::format("{}\n{}", title, text),
                                           {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}});
  return fmt::format(R"({{"text":{}}})", base::json_string(escaped));
}

// An adaptive card, for the webhooks of Teams' workflows.
std::string teams_body(const std::string& title, const std::string& text) {
  constexpr const char* kBlock = R"({{"type":"TextBlock","wrap":true,"text":{}{}}})";
  return fmt::format(
      R"({{"type":"message","attachments":[{{"contentType":)"
      R"("application/vnd.microsoft.card.adaptive","content":{{"$schema":)"
      R"("http://adaptivecards.io/schemas/adaptive-card.json","type":"AdaptiveCard",)"
      R"("version":"1.2","body":[{},{}]}}}}]}})",
      fmt::format(fmt::runtime(kBlock), base::json_string(title), R"(,"weight":"Bolder")"),
      fmt::format(fmt::runtime(kBlock), base::json_string(text), ""));
}

std::string webhook_body(const std::string& title, const Notice& notice,
                         const NoticeSubject& subject, base::Nanos wall_time) {
  std::string body = fmt::format(
      R"({{"event":{},"time":{},"run_id":{},"program":{},"host":{},"title":{},"text":{})",
      base::json_string(to_string(notice.kind)), base::json_string(utc_text(wall_time)),
      base::json_string(subject.run_id), base::json_string(subject.program),
      base::json_string(subject.host), base::json_string(title), base::json_string(notice.text));
  if (notice.kind == NoticeKind::kFinished) {
    body += fmt::format(R"(,"exit_code":{})", notice.exit_code);
  }
  return body + "}";
}

const char* ntfy_priority(NoticeKind kind) {
  switch (kind) {
    case NoticeKind::kGaveUp: return "5";
    case NoticeKind::kIncident:
    case NoticeKind::kStalled: return "4";
    case NoticeKind::kStarted:
    case NoticeKind::kRecovered:
    case NoticeKind::kFinished: break;
  }
  return "3";
}

std::string host_of(const std::string& url) {
  const std::size_t begin = url.find("://") + 3;
  std::string host = url.substr(begin, url.find_first_of("/?#", begin) - begin);
  return host.substr(host.rfind('@') + 1);
}

}  // namespace

std::string notice_title(const Notice& notice, const NoticeSubject& subject) {
  const std::string name = subject.program.substr(subject.program.rfind('/') + 1);
  return fmt::format("{}: {} ({})", base::printable(name), to_string(notice.kind),
                     base::printable(subject.host));
}

base::HttpPost notice_request(const NotifyTarget& target, const Notice& notice,
                              const NoticeSubject& subject, base::Nanos wall_time) {
  const std::string title = notice_title(notice, subject);
  const std::string text = body_text(notice, subject);
  base::HttpPost request;
  request.url = target.address;
  request.headers = {"Content-Type: application/json", "Expect:"};
  request.time_max = kNoticeRequestMax;
  switch (target.kind) {
    case Kind::kSlack: request.body = slack_body(title, text); break;
    case Kind::kTeams: request.body = teams_body(title, text); break;
    case Kind::kWebhook: request.body = webhook_body(title, notice, subject, wall_time); break;
    case Kind::kNtfy:
      request.headers = {"Content-Type: text/plain; charset=utf-8",
                         "Expect:", "Title: " + ascii(title),
                         std::string("Priority: ") + ntfy_priority(notice.kind)};
      request.body = text;
      break;
    case Kind::kMail: break;
  }
  return request;
}

std::string notice_mail(const std::string& address, const Notice& notice,
                        const NoticeSubject& subject) {
  return fmt::format(
      "To: {}\nSubject: {}\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\n"
      "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n{}\n",
      ascii(address), ascii(notice_title(notice, subject)), body_text(notice, subject));
}

std::string shown_target(const NotifyTarget& target) {
  switch (target.kind) {
    case Kind::kSlack: return "slack (" + host_of(target.address) + ")";
    case Kind::kTeams: return "teams (" + host_of(target.address) + ")";
    case Kind::kWebhook: return "webhook (" + host_of(target.address) + ")";
    case Kind::kNtfy: return "ntfy (" + host_of(target.address) + ")";
    case Kind::kMail: return "mail to " + target.address;
  }
  return "";
}

}  // namespace robustrun::supervisor
