#include "supervisor/core/fault/script_error.h"

#include <doctest/doctest.h>

#include <vector>

namespace robustrun::supervisor::script_error_test {

using Lines = std::vector<std::string>;

TEST_CASE("the innermost line of the user's own code is named, not the library's") {
  const Lines lines{
      "step 4",
      "[rank1]: Traceback (most recent call last):",
      "[rank1]:   File \"/job/train.py\", line 30, in <module>",
      "[rank1]:     main()",
      "[rank1]:   File \"/job/data.py\", line 12, in load_batch",
      "[rank1]:     return torch.stack(rows)",
      "[rank1]:   File \"/venv/lib/python3.11/site-packages/torch/x.py\", line 7, in f",
      "[rank1]:     raise RuntimeError(text)",
      "[rank1]: RuntimeError: stack expects a non-empty TensorList",
      "[rank1]: more of the message"};
  const auto error = script_error(lines);
  REQUIRE(error);
  CHECK(error->exception == "RuntimeError: stack expects a non-empty TensorList");
  CHECK(place_in_words(*error) == "load_batch (data.py:12)");
}

TEST_CASE("a syntax error has a line and no function") {
  const auto error =
      script_error(Lines{"  File \"/job/train.py\", line 3", "    def f(:", "          ^",
                         "SyntaxError: invalid syntax"});
  REQUIRE(error);
  CHECK(place_in_words(*error) == "train.py:3");
}

TEST_CASE("of chained exceptions the last one counts") {
  const auto error = script_error(
      Lines{"Traceback (most recent call last):", "  File \"a.py\", line 1, in f", "KeyError: 'x'",
            "", "During handling of the above exception, another exception occurred:", "",
            "Traceback (most recent call last):", "  File \"b.py\", line 2, in g", "    ~~^^",
            "ValueError"});
  REQUIRE(error);
  CHECK(error->exception == "ValueError");
  CHECK(place_in_words(*error) == "g (b.py:2)");
}

TEST_CASE("where all frames are a library's the innermost is named") {
  const auto error = script_error(
      Lines{"Traceback (most recent call last):",
            "  File \"/usr/lib/python3.11/runpy.py\", line 198, in _run_module_as_main",
            "ModuleNotFoundError: No module named 'x'"});
  REQUIRE(error);
  CHECK(place_in_words(*error) == "_run_module_as_main (runpy.py:198)");
}

TEST_CASE("a module that the interpreter cannot run is named, without a place") {
  const auto error = script_error(Lines{"a warning", "/env/bin/python3.11: No module named nomod"});
  REQUIRE(error);
  CHECK(error->exception == "No module named nomod");
  CHECK(place_in_words(*error).empty());
  CHECK(!script_error(Lines{"hint: No module named x"}));
}

TEST_CASE("output without an exception names none, whatever it looks like") {
  CHECK(!script_error({}));
  CHECK(!script_error(Lines{"loss: 3", "Error: said a library", "[rankx]: hm"}));
  CHECK(!script_error(Lines{"  File \"unfinished", "  File \"a.py\", line 999999999999, in f"}));
  CHECK(!script_error(Lines{"Traceback (most recent call last):", "  File \"a.py\", line 1"}));
}

}  // namespace robustrun::supervisor::script_error_test
