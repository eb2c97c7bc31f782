// Prints the report page of a made-up run with many incidents (tests/supervisor/big_story.h), for
// tests/e2e/test_report_page.py.
//
//   big_page NODES SLOTS INCIDENTS

#include <cstdio>
#include <cstdlib>
#include <string>

#include "supervisor/core/report/html/html.h"
#include "tests/supervisor/big_story.h"

int main(int argc, char** argv) {
  using namespace robustrun::supervisor;
  if (argc != 4) return 2;
  const auto number = [&](int i) { return static_cast<std::uint32_t>(std::atoi(argv[i])); };
  const std::string page = html_report(scenarios::big(number(1), number(2), number(3)).entries);
  std::fwrite(page.data(), 1, page.size(), stdout);
  return 0;
}
