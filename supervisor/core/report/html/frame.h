#pragma once
// A self-contained HTML page: one of our scripts, the style sheet and the data that the script
// shows. It loads nothing: its Content-Security-Policy allows only this script and this style
// sheet. Pure.

#include <string>

#include "supervisor/core/report/html/assets.h"

namespace robustrun::supervisor {

struct PageFrame {
  PageKind kind = PageKind::kReport;
  std::string title;
  std::string json;  // one document, for the script
  std::string plain;  // elements for readers whose scripts are off
};

[[nodiscard]] std::string html_page(const PageFrame& frame);

}  // namespace robustrun::supervisor
