#pragma once
// A report as one HTML page that needs no network and no other file. Pure.
//
// The page is a frame, a JSON object (page_data.h) and a script that draws it (page/). Nothing
// from the run becomes markup: the script sets text only, and a Content-Security-Policy lets only
// this script and style sheet take effect. Without scripts the page shows the summary and a line
// for each incident.

#include <string>
#include <vector>

#include "supervisor/core/types/journal_entry.h"

namespace robustrun::supervisor {

// Accepts any journal, even an incomplete or inconsistent one. The page is smaller than 1 MB for
// 100 incidents on 64 nodes.
[[nodiscard]] std::string html_report(const std::vector<JournalEntry>& entries);

}  // namespace robustrun::supervisor
