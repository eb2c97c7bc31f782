#include "cli/submit/slurm_time.h"

#include <doctest/doctest.h>

namespace robustrun::cli::slurm_time_test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("time limits as sbatch has them") {
  CHECK(slurm_time("90") == 90min);
  CHECK(slurm_time("90:30") == 90min + 30s);
  CHECK(slurm_time("4:00:00") == 4h);
  CHECK(slurm_time("2-12") == 60h);
  CHECK(slurm_time("2-12:30") == 60h + 30min);
  CHECK(slurm_time("1-0:0:5") == 24h + 5s);
  for (const char* text : {"", "UNLIMITED", "-1", "1:2:3:4", "1-", "4h", "1:", "99999999999"}) {
    CAPTURE(text);
    CHECK_FALSE(slurm_time(text));
  }
}

}  // namespace
}  // namespace robustrun::cli::slurm_time_test
