"""The reader behind the tidy rules sees code and only code."""

import pytest
import source_tree

SAMPLE = r'''#include "wire/messages/frame.h"
#include <vector>
#define TWICE(x) \
  do { x; x; } while (false)
namespace {
// kill(1) in a comment, and "text
const char* text = "throw { \" // no comment";
const auto raw = R"x(co_await { " )x";
int big = 1'000'000;
int one(int x) {
  if (x > 0) {
    return '{';
  }
  return 2;
}
struct S {
  int two() const { return 2; }
};
}  // namespace
'''


@pytest.fixture(autouse=True)
def sample(monkeypatch):
    monkeypatch.setattr(source_tree, "text", lambda name: SAMPLE)
    source_tree.code.cache_clear()
    yield
    source_tree.code.cache_clear()


def test_comments_and_literals_are_blank_and_lines_stay():
    code = source_tree.code("sample")
    assert not any(word in code for word in ("kill", "throw", "co_await", "comment"))
    assert "1'000'000" in code and code.count("\n") == SAMPLE.count("\n")
    assert source_tree.includes("sample") == ["wire/messages/frame.h", "vector"]


def test_a_match_is_reported_with_its_line():
    assert source_tree.lines_with(r"return 2;", source_tree.code("sample")) == [
        (14, "return 2;"), (17, "int two() const { return 2; }")]
