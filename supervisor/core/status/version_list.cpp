#include "supervisor/core/status/version_list.h"

#include <fmt/core.h>

#include "base/core/text.h"
#include "supervisor/core/status/event_lines.h"
#include "supervisor/core/types/json_writer.h"

namespace robustrun::supervisor {
namespace {

std::string state_words(const VersionRow& row) {
  std::string words = to_string(row.state);
  if (row.attempt) words += fmt::format(", first with attempt {}", *row.attempt);
  if (row.next && !row.present) words += ", next";
  if (!row.why.empty()) words += ": " + row.why;
  return words;
}

}  // namespace

VersionList list_versions(const Versions& versions, base::Nanos wall_clock) {
  VersionList list;
  for (std::uint32_t number = 0; number < versions.all.size(); ++number) {
    const Version& version = versions.all[number];
    VersionRow& row = list.versions.emplace_back();
    row.number = number;
    row.state = version.state;
    row.asked = wall_clock + version.asked_at;
    row.changes = version.changes;
    row.code_digest = version.digest;
    if (version.attempt) row.attempt = version.attempt->value;
    row.present = number == versions.present;
    row.next = number == versions.next;
    row.why = version.why;
  }
  return list;
}

std::string versions_json(const VersionList& list) { return JsonWriter::object(list); }

std::string versions_text(const VersionList& list) {
  std::string text;
  for (const VersionRow& row : list.versions) {
    const std::string changes =
        row.changes.empty() ? "as the run was started" : base::join(row.changes, "; ");
    text += fmt::format("{} {:<3} {}  {} [{}]\n", row.present ? '*' : ' ', row.number,
                        utc_text(row.asked), base::printable(changes),
                        base::printable(state_words(row)));
  }
  return text;
}

}  // namespace robustrun::supervisor
