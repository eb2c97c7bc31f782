#include "supervisor/core/report/html/html.h"

#include <fmt/core.h>

#include "supervisor/core/report/html/frame.h"
#include "supervisor/core/report/html/page_data.h"
#include "supervisor/core/report/inert.h"
#include "supervisor/core/types/json_writer.h"

namespace robustrun::supervisor {
namespace {

std::string without_script(const PageData& page) {
  std::string out = "<h1>" + html_text(page.title) + "</h1>";
  for (const std::string& line : page.summary) out += "<p>" + html_text(line) + "</p>";
  out += "<ol>";
  for (const PageIncident& incident : page.incidents) {
    out += fmt::format("<li>{}: {}; {}</li>", html_text(incident.when), html_text(incident.what),
                       html_text(incident.verdict));
  }
  return out + "</ol><p>Scripts are off: `robustrun report -v` shows the rest.</p>";
}

}  // namespace

std::string html_report(const std::vector<JournalEntry>& entries) {
  const PageData page = page_data(entries);
  return html_page({PageKind::kReport, page.title + " · " + page.outcome, JsonWriter::object(page),
                    without_script(page)});
}

}  // namespace robustrun::supervisor
