#include "cli/text/ckpt_text.h"

#include <doctest/doctest.h>

namespace robustrun::cli::ckpt_text_test {

TEST_CASE("a directory without checkpoints is no table without rows") {
  CHECK(checkpoints_text({}) == "no checkpoints\n");
  CHECK(checkpoints_json({}) == "[]\n");
}

}  // namespace robustrun::cli::ckpt_text_test
