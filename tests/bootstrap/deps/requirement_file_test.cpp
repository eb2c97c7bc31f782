#include "bootstrap/deps/requirement_file.h"

#include <doctest/doctest.h>

#include <string>

#include "bootstrap/store/limits.h"

using namespace robustrun;
using namespace robustrun::bootstrap;
using Kind = RequirementLine::Kind;

namespace requirement_file_test {

RequirementLine only(const std::string& text) {
  auto lines = parse_requirements(text);
  REQUIRE(lines.has_value());
  REQUIRE(lines->size() == 1);
  return lines->front();
}

TEST_CASE("a requirement is pinned by one version, by a hash or by a commit") {
  CHECK(only("numpy==1.26.4").pinned);
  CHECK(only("numpy[extra]==1.26.4 ; python_version >= '3.9'").pinned);
  CHECK(only("numpy===1.26.4").pinned);
  CHECK(only("numpy>=1 --hash=sha256:00").pinned);
  CHECK(only("pkg @ https://host/pkg.whl#sha256=00").pinned);
  CHECK(only("pkg @ git+https://host/r@0123456789abcdef0123456789abcdef01234567").pinned);
  CHECK_FALSE(only("numpy").pinned);
  CHECK_FALSE(only("numpy>=1.2").pinned);
  CHECK_FALSE(only("numpy==1.*").pinned);
  CHECK_FALSE(only("numpy ; python_version == '3.9'").pinned);
  CHECK_FALSE(only("pkg @ git+https://host/r@main").pinned);
  CHECK_FALSE(only("https://host/pkg-1.0.tar.gz").pinned);
}

TEST_CASE("named files are found, however the option is written") {
  for (const char* text : {"-r base.txt", "-rbase.txt", "--requirement base.txt",
                           "--requirement=base.txt", "  -r   base.txt  # why"}) {
    CAPTURE(text);
    CHECK(only(text).kind == Kind::kInclude);
    CHECK(only(text).path == "base.txt");
  }
  CHECK(only("-c limits.txt").kind == Kind::kConstraint);
  CHECK(only("--find-links 'my wheels'").path == "my wheels");
  CHECK(only("-f https://host/wheels").kind == Kind::kOther);
  CHECK(only("--index-url https://host/simple").kind == Kind::kOther);
  CHECK(only("--requirements-are-fun").kind == Kind::kOther);
}

TEST_CASE("local packages are paths, with extras and markers after them") {
  const auto editable = only("-e ./package[fast,all]");
  CHECK(editable.kind == Kind::kEditable);
  CHECK(editable.path == "./package");
  CHECK(editable.rest == "[fast,all]");
  CHECK(only("-e file:///srv/package#egg=package").path == "/srv/package");
  CHECK(only("-e git+https://host/r").kind == Kind::kOther);
  CHECK(only("wheels/a-1.0-py3-none-any.whl").path == "wheels/a-1.0-py3-none-any.whl");
  CHECK(only("a-1.0-py3-none-any.whl").kind == Kind::kPath);
  const auto marked = only("../other ; sys_platform == 'linux'");
  CHECK(marked.path == "../other");
  CHECK(marked.rest == " ; sys_platform == 'linux'");
  CHECK(only("name @ file:///srv/a.whl").path == "/srv/a.whl");
  CHECK(only("name @ file://localhost/my%20srv/a.whl").path == "/my srv/a.whl");
  CHECK(only("name[x] @ file:../a%zz").path == "../a%zz");
}

TEST_CASE("lines are joined, comments are skipped, and a URL keeps its fragment") {
  const auto joined = only("numpy \\\n  ==1.0 \\\n  # a comment within\n");
  CHECK(joined.text == "numpy   ==1.0");
  CHECK(joined.pinned);
  CHECK(only("https://host/a.whl#sha256=00 # why").text == "https://host/a.whl#sha256=00");
  CHECK(only("numpy==1.0\\").text == "numpy==1.0");
  CHECK(parse_requirements("# nothing\r\n\r\n   \n")->empty());
  CHECK(only("\xEF\xBB\xBFnumpy==1.0\r\n").text == "numpy==1.0");
}

TEST_CASE("a malformed list of requirements is an error that names the line") {
  const auto empty = parse_requirements("numpy\n-r \n");
  REQUIRE_FALSE(empty.has_value());
  CHECK(empty.error().what.find("line 2") != std::string::npos);
  CHECK_FALSE(parse_requirements(std::string("a\0b", 3)).has_value());
  std::string many;
  for (std::size_t i = 0; i <= kDepsLinesMax; ++i) many += "a\n";
  CHECK(parse_requirements(many).error().code == base::Errc::kLimit);
  CHECK(parse_requirements(std::string(kDepsFileBytesMax + 1, ' ')).error().code ==
        base::Errc::kLimit);
}

}  // namespace requirement_file_test
