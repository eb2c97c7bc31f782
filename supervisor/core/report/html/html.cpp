#include "supervisor/core/report/html/html.h"

#include <fmt/core.h>

#include "supervisor/core/report/html/assets.h"
#include "supervisor/core/report/html/page_data.h"
#include "supervisor/core/report/inert.h"
#include "supervisor/core/types/json_writer.h"

namespace robustrun::supervisor {
namespace {

std::string without_script(const PageData& page) {
  std::string out = "<noscript><div class=\"plain\">";
  for (const std::string& line : page.summary) out += "<p>" + html_text(line) + "</p>";
  out += "<ol>";
  for (const PageIncident& incident : page.incidents) {
    out += fmt::format("<li>{}: {}; {}</li>", html_text(incident.when), html_text(incident.what),
                       html_text(incident.verdict));
  }
  return out +
         "</ol><p>Scripts are off: `robustrun report -v` shows the rest.</p></div></noscript>";
}

}  // namespace

std::string html_report(const std::vector<JournalEntry>& entries) {
  const PageData page = page_data(entries);
  const PageAssets assets = page_assets();
  std::string out = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  out += fmt::format(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'\">\n",
      assets.script_hash, assets.style_hash);
  out +=
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n";
  out += fmt::format("<title>{} · {}</title>\n", html_text(page.title), page.outcome);
  out += "<style>";
  out += assets.style;
  out += "</style>\n</head>\n<body>\n<main id=\"page\"></main>\n";
  out += without_script(page);
  out += "\n<script type=\"application/json\" id=\"data\">";
  out += script_json(JsonWriter::object(page));
  out += "</script>\n<script>";
  out += assets.script;
  out += "</script>\n</body>\n</html>\n";
  return out;
}

}  // namespace robustrun::supervisor
