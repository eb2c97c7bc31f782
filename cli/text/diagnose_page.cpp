#include "cli/text/diagnose_page.h"

#include <fmt/format.h>

#include "base/core/words.h"
#include "supervisor/core/report/html/frame.h"
#include "supervisor/core/report/inert.h"
#include "supervisor/core/types/json_writer.h"

namespace robustrun::cli {
namespace {

using supervisor::html_text;
using tracer::Finding;
using tracer::Verdict;

constexpr std::size_t kSentenceBytes = 1200;
constexpr std::size_t kLinesMax = 200;

struct WaitData {
  std::string title;
  std::string kind;  // "hang", "slow", "busy"; empty: nothing is blocked
  std::string about;
  std::string rule;
  std::string confidence;
  std::string lasting;  // in words; empty: unknown
  std::string operation;  // that the victims wait in; empty: none in particular
  std::string place;  // where the culprits are; empty: not at one place
  std::vector<std::uint32_t> culprits;
  std::vector<std::string> nodes;
  std::vector<std::uint32_t> victims;
  std::vector<std::vector<std::uint32_t>> links;  // to blame: from, to
  std::vector<std::string> evidence;
  std::string runner_up;
  std::vector<std::string> notes;
  template <class V>
  void fields(V& v) {
    v(1, "title", title);
    v(2, "kind", kind);
    v(3, "about", about);
    v(4, "rule", rule);
    v(5, "confidence", confidence);
    v(6, "lasting", lasting);
    v(7, "operation", operation);
    v(8, "place", place);
    v(9, "culprits", culprits);
    v(10, "nodes", nodes);
    v(11, "victims", victims);
    v(12, "links", links);
    v(13, "evidence", evidence);
    v(14, "runner_up", runner_up);
    v(15, "notes", notes);
  }
};

std::string kind_of(Finding finding) {
  if (finding == Finding::kNothing) return "";
  if (finding == Finding::kLongPhase) return "busy";
  return tracer::is_slowness(finding) ? "slow" : "hang";
}

std::string sentence(std::string_view text) { return supervisor::inert_text(text, kSentenceBytes); }

std::vector<std::string> lines(const std::vector<std::string>& all) {
  std::vector<std::string> out;
  for (const std::string& line : all) {
    if (out.size() == kLinesMax) break;
    out.push_back(sentence(line));
  }
  return out;
}

std::vector<std::uint32_t> numbers(const std::vector<base::Rank>& ranks) {
  std::vector<std::uint32_t> out;
  for (const base::Rank rank : ranks) out.push_back(rank.value);
  return out;
}

std::string operation_words(const Verdict& verdict) {
  if (verdict.ordinal == 0) return {};
  return fmt::format("{} #{}{}", tracer::to_string(verdict.signature.kind), verdict.ordinal,
                     verdict.group.empty() ? "" : " of " + verdict.group);
}

std::string without_script(const WaitData& page) {
  std::string out = "<h1>" + html_text(page.title) + "</h1><ul>";
  for (const std::string& line : page.evidence) out += "<li>" + html_text(line) + "</li>";
  return out + "</ul><p>Scripts are off: `robustrun diagnose` shows the rest as text.</p>";
}

}  // namespace

std::string diagnose_page(const Verdict& verdict, const std::string& about,
                          const std::vector<std::string>& notes) {
  WaitData page;
  page.title = sentence(verdict.sentence);
  page.kind = kind_of(verdict.finding);
  page.about = sentence(about);
  if (const std::string_view rule = tracer::rule_of(verdict.finding); !rule.empty()) {
    page.rule = fmt::format("{}, {}", rule, tracer::to_string(verdict.finding));
    page.confidence = tracer::to_string(verdict.confidence);
  }
  if (verdict.lasting > base::Nanos{}) page.lasting = base::duration_words(verdict.lasting);
  page.operation = sentence(operation_words(verdict));
  page.place = sentence(verdict.place);
  page.culprits = numbers(verdict.culprits);
  page.nodes = lines(verdict.nodes);
  page.victims = numbers(verdict.victims);
  for (const tracer::Edge& edge : verdict.edges) {
    page.links.push_back({edge.from.value, edge.to.value});
  }
  page.evidence = lines(verdict.evidence);
  if (verdict.runner_up.finding != Finding::kNothing) {
    page.runner_up = sentence(verdict.runner_up.sentence);
  }
  page.notes = lines(notes);
  return supervisor::html_page({supervisor::PageKind::kDiagnosis,
                                (page.kind.empty() ? "" : page.kind + ": ") + page.title,
                                supervisor::JsonWriter::object(page), without_script(page)});
}

}  // namespace robustrun::cli
