#include "cli/runs/blamed.h"

#include <doctest/doctest.h>

namespace robustrun::cli::blamed_test {
namespace {

using namespace std::chrono_literals;
using supervisor::NodeNote;
using supervisor::NoteKind;

std::string blamed(const std::vector<NodeNote>& notes) {
  std::string text;
  for (const launcher::BlamedHost& host : blamed_hosts(notes)) {
    text += (text.empty() ? "" : ", ") + host.name + " " + host.why;
  }
  return text;
}

TEST_CASE("hosts surely to blame come first, then the newest") {
  CHECK(blamed({{"n1", 1s, "a", NoteKind::kLost, ""},
                {"n2", 2s, "a", NoteKind::kHang, ""},
                {"n3", 3s, "b", NoteKind::kUnfit, ""}}) == "n3 unfit, n1 lost, n2 hang");
  CHECK(blamed({{"n1", 1s, "a", NoteKind::kHang, ""}, {"n1", 2s, "b", NoteKind::kLost, ""}}) ==
        "n1 lost");
}

TEST_CASE("a slow host, and one that passed a check later, are not blamed") {
  CHECK(blamed({{"n1", 1s, "a", NoteKind::kSlow, ""}}).empty());
  CHECK(blamed({{"n1", 1s, "a", NoteKind::kLost, ""}, {"n1", 2s, "b", NoteKind::kCleared, ""}})
            .empty());
  CHECK(blamed({{"n1", 1s, "a", NoteKind::kLost, ""},
                {"n1", 2s, "b", NoteKind::kCleared, ""},
                {"n1", 3s, "c", NoteKind::kUnfit, ""}}) == "n1 unfit");
}

}  // namespace
}  // namespace robustrun::cli::blamed_test
