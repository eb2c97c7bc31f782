#pragma once
// The scripts and the style sheet of our pages: html/page/, compiled in by cmake/report_page.cmake.

#include <cstdint>
#include <string_view>

namespace robustrun::supervisor {

enum class PageKind : std::uint8_t { kReport, kPlan, kDiagnosis };

struct PageAssets {
  std::string_view script;
  std::string_view script_hash;  // "sha256-…", for the Content-Security-Policy
  std::string_view style;
  std::string_view style_hash;
};

[[nodiscard]] PageAssets page_assets(PageKind kind);

}  // namespace robustrun::supervisor
