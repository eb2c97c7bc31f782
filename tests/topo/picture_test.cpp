#include <doctest/doctest.h>

#include <algorithm>

#include "base/core/text.h"
#include "tests/topo/pods.h"
#include "topo/picture/svg.h"
#include "topo/picture/text.h"

namespace robustrun::topo::picture_test {
namespace {

using testing::pods_cluster;
using testing::problem_of;

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

// With nodes in the order of the cluster, so that the picture does not depend on the solver.
struct Shown {
  Cluster cluster;
  Problem problem;
  Placement placement;
  Shown(std::uint32_t pods, std::uint32_t nodes, std::string_view parallel, std::uint32_t places,
        std::uint32_t spares)
      : cluster(pods_cluster(pods, nodes, 1)),
        problem(problem_of(cluster, parallel, places, spares)),
        placement(place_in_order(problem).value()) {}
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;
  [[nodiscard]] Scene scene(std::optional<GroupKind> kind = std::nullopt) const {
    return make_scene(cluster, placement, problem.objective.kinds, kind).value();
  }
};

TEST_CASE("the text has a line for each switch and a character for each node") {
  const Shown shown(2, 4, "pp=4,dp=3", 12, 2);
  CHECK(picture_text(shown.scene(), {}) ==
        "pod0     8 of 8\n"
        "  leaf0  4 of 4            AABC\n"
        "  leaf1  4 of 4            ABBC\n"
        "pod1     4 of 8, 2 spares\n"
        "  leaf2  4 of 4            ABCC\n"
        "  leaf3  0 of 4, 2 spares  ++..\n"
        "A the nodes of pp group 0, B of group 1, ...; + a spare; . not used\n");
}

TEST_CASE("the kind of most weight is shown, or the requested one") {
  const Shown shown(2, 4, "pp=4,dp=4", 16, 0);
  CHECK(shown.scene().kind == GroupKind::kPp);
  const Scene dp = shown.scene(GroupKind::kDp);
  CHECK(dp.groups == 4);
  CHECK(picture_text(dp, {}).find("leaf0  4 of 4  AAAA\n") != std::string::npos);
  const auto tp =
      make_scene(shown.cluster, shown.placement, shown.problem.objective.kinds, GroupKind::kTp);
  CHECK(tp.error().what == "cannot show tp groups: none of them spans nodes");
}

TEST_CASE("no line is wider than the limit, and omissions are marked") {
  const Shown shown(2, 60, "pp=4,dp=30", 120, 10);
  TextPictureStyle style;
  style.columns = 60;
  const std::string text = picture_text(shown.scene(), style);
  CAPTURE(text);
  for (const std::string_view line : base::split(text, '\n')) {
    if (!line.starts_with("A the nodes")) CHECK(line.size() <= 60);
  }
  CHECK(text.find("*") != std::string::npos);
  CHECK(text.find(" ...") != std::string::npos);
}

TEST_CASE("many switches are shown by those above them") {
  const Shown shown(12, 3, "pp=4,dp=18", 72, 0);
  TextPictureStyle style;
  style.lines_max = 20;
  const std::string text = picture_text(shown.scene(), style);
  CHECK(text.find("leaf") == std::string::npos);
  CHECK(count(text, "pod") == 12);
}

TEST_CASE("colours are optional") {
  const Shown shown(2, 2, "pp=2,dp=4", 8, 0);
  CHECK(picture_text(shown.scene(), {}).find('\x1b') == std::string::npos);
  TextPictureStyle style;
  style.colour = true;
  CHECK(picture_text(shown.scene(), style).find("\x1b[1;38;5;") != std::string::npos);
}

TEST_CASE("the drawing has every node once, with its place and group") {
  const Shown shown(2, 4, "pp=4,dp=3", 12, 2);
  const std::string svg = picture_svg(shown.scene(), "pods\n12 nodes");
  CHECK(count(svg, "<title>") == 16);
  CHECK(svg.find("<title>n1: place 0, rank 0, pp group 0</title>") != std::string::npos);
  CHECK(svg.find("<title>n13: spare</title>") != std::string::npos);
  CHECK(svg.find("<title>n16: not used</title>") != std::string::npos);
  CHECK(count(svg, "<text") == count(svg, "</text>"));
  CHECK(svg.ends_with("</svg>\n"));
}

TEST_CASE("names cannot break the drawing") {
  Shown shown(2, 2, "pp=2,dp=4", 8, 0);
  shown.cluster.nodes[0].name = "<&\">\x01";
  shown.cluster.levels[0].switches[0].name = "]]>";
  const std::string svg = picture_svg(shown.scene(), "a < b & c");
  CHECK(svg.find("&lt;&amp;&quot;&gt;\\x01: place 0") != std::string::npos);
  CHECK(svg.find("]]&gt;") != std::string::npos);
  CHECK(svg.find("a &lt; b &amp; c") != std::string::npos);
  CHECK(svg.find('\x01') == std::string::npos);
}

TEST_CASE("a large cluster is drawn without names, and in proportion") {
  const Shown shown(10, 50, "pp=8,dp=120", 960, 20);
  const std::string svg = picture_svg(shown.scene(), "large");
  CHECK(count(svg, "<title>") == 1000);
  CHECK(svg.find(">n1</text>") == std::string::npos);
  CHECK(svg.size() < 300'000);
}

TEST_CASE("a cluster without structure is one box") {
  const Cluster flat = flat_cluster({"a", "b"});
  const Problem problem = problem_of(flat, "dp=2", 2, 0);
  const Placement placement = place_in_order(problem).value();
  const Scene scene = make_scene(flat, placement, problem.objective.kinds, std::nullopt).value();
  CHECK(picture_text(scene, {}).starts_with("network  2 of 2  AA\n"));
}

}  // namespace
}  // namespace robustrun::topo::picture_test
