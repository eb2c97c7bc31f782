#include "cli/plan/notify.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/core/text.h"
#include "cli/options/limits.h"
#include "cli/options/values.h"

namespace robustrun::cli {
namespace {

using supervisor::NotifyPlan;
using supervisor::NotifyTarget;
using Kind = NotifyTarget::Kind;

constexpr std::pair<std::string_view, Kind> kKinds[] = {{"slack", Kind::kSlack},
                                                        {"teams", Kind::kTeams},
                                                        {"webhook", Kind::kWebhook},
                                                        {"ntfy", Kind::kNtfy},
                                                        {"mail", Kind::kMail}};

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](unsigned char c) { return c > 0x20 && c < 0x7F; });
}

bool is_http_url(std::string_view text) {
  const bool has_scheme = text.starts_with("http://") || text.starts_with("https://");
  const std::string_view rest = text.substr(std::min(text.find("://") + 3, text.size()));
  return has_scheme && is_plain(text) && !rest.empty() && rest.front() != '/';
}

// A mail address, or a user of this machine.
bool is_mail(std::string_view text) {
  return !text.empty() && is_plain(text) && text.front() != '-' &&
         text.find_first_of(",;<>()\"") == std::string_view::npos;
}

base::Result<NotifyTarget> parse_target(std::string_view text) {
  const auto wrong = [](std::string why) {
    return base::fail(base::Errc::kInvalidArgument, std::move(why));
  };
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const auto* const kind =
      std::ranges::find(kKinds, word, [](const auto& one) { return one.first; });
  if (colon == std::string_view::npos || kind == std::end(kKinds)) {
    return wrong("expected slack:URL, teams:URL, webhook:URL, ntfy:URL or mail:ADDRESS");
  }
  const std::string_view address = text.substr(colon + 1);
  if (address.size() > kNotifyAddressBytesMax) {
    return wrong(fmt::format("{}: more than {} bytes", word, kNotifyAddressBytesMax));
  }
  const bool is_right = kind->second == Kind::kMail ? is_mail(address) : is_http_url(address);
  if (!is_right) {
    return wrong(
        fmt::format("{}: expected {} after the colon", word,
                    kind->second == Kind::kMail ? "a mail address" : "an http:// or https:// URL"));
  }
  return NotifyTarget{kind->second, std::string(address)};
}

}  // namespace

base::Result<NotifyPlan> plan_notify(const Settings& settings, const Surroundings& around,
                                     std::vector<std::string>& warnings) {
  NotifyPlan plan;
  const OptionId id = OptionId::kNotify;
  for (const std::string& text : parse_filters(settings.text(id))) {
    if (plan.targets.size() == kNotifyTargetsMax) {
      return cannot_use(settings, id, fmt::format("more than {} targets", kNotifyTargetsMax));
    }
    auto target = parse_target(base::trim(text));
    if (!target) return cannot_use(settings, id, target.error().what);
    plan.targets.push_back(*std::move(target));
  }
  const auto is_mail = [](const NotifyTarget& one) { return one.kind == Kind::kMail; };
  if (std::ranges::any_of(plan.targets, is_mail)) {
    const std::string path = around.variable("PATH").value_or("") + ":/usr/sbin:/usr/lib";
    auto found = around.machine->find_executable("sendmail", path);
    if (found) {
      plan.sendmail = *std::move(found);
    } else {
      std::erase_if(plan.targets, is_mail);
      warnings.emplace_back("--notify sends no mail: this machine has no sendmail program");
    }
  }
  plan.stalled_after = settings.duration(OptionId::kNotifyStalled).value_or(base::Nanos{});
  for (const char* name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    plan.authorities = around.variable(name).value_or("");
    if (!plan.authorities.empty()) break;
  }
  return plan;
}

}  // namespace robustrun::cli
