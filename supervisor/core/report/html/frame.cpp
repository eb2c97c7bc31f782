#include "supervisor/core/report/html/frame.h"

#include <fmt/core.h>

#include "supervisor/core/report/inert.h"

namespace robustrun::supervisor {

std::string html_page(const PageFrame& frame) {
  const PageAssets assets = page_assets(frame.kind);
  std::string out = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  out += fmt::format(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'\">\n",
      assets.script_hash, assets.style_hash);
  out +=
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n";
  out += fmt::format("<title>{}</title>\n", html_text(frame.title));
  out += "<style>";
  out += assets.style;
  out += "</style>\n</head>\n<body>\n<main id=\"page\"><noscript><div>";
  out += frame.plain;
  out += "</div></noscript></main>\n<script type=\"application/json\" id=\"data\">";
  out += script_json(frame.json);
  out += "</script>\n<script>";
  out += assets.script;
  out += "</script>\n</body>\n</html>\n";
  return out;
}

}  // namespace robustrun::supervisor
