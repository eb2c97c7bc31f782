#pragma once
// The script and the style sheet of the page: html/page/, compiled in by cmake/report_page.cmake.

#include <string_view>

namespace robustrun::supervisor {

struct PageAssets {
  std::string_view script;
  std::string_view script_hash;  // "sha256-…", for the Content-Security-Policy
  std::string_view style;
  std::string_view style_hash;
};

[[nodiscard]] PageAssets page_assets();

}  // namespace robustrun::supervisor
