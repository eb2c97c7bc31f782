#include "base/core/text_template.h"

#include <doctest/doctest.h>

#include <array>

namespace text_template_test {

using robustrun::base::substitute;
using robustrun::base::TemplateValue;

namespace {

std::string with_values(std::string_view text) {
  const std::array<TemplateValue, 2> values{{{"rank", "3"}, {"role_name", "trainer"}}};
  return substitute(text, values);
}

}  // namespace

TEST_CASE("known names are replaced with and without braces") {
  CHECK(with_values("[${role_name}$rank]:") == "[trainer3]:");
  CHECK(with_values("$rank$rank") == "33");
}

TEST_CASE("$$ becomes $, and unknown names stay unchanged") {
  CHECK(with_values("$$rank") == "$rank");
  CHECK(with_values("$ranks ${ranks} ${rank $ {rank} $") == "$ranks ${ranks} ${rank $ {rank} $");
  CHECK(with_values("") == "");
  CHECK(with_values("${}$1") == "${}$1");
}

}  // namespace text_template_test
